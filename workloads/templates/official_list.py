"""The official templates: what each says, and the images that it is for."""

from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_noop

from workloads.states import Category


@dataclass(frozen=True)
class Official:
    """A template for the official images whose slug begins with `image`."""

    slug: str
    image: str
    title: str
    icon: str
    category: str
    description: str
    readme: str
    min_vram_gb: int | None = None
    data_disk_gb: int = 20
    inputs: tuple[dict[str, Any], ...] = ()
    port: dict[str, Any] | None = None
    ready_at: str = ""  # path at that port that answers with 200 once the service is ready; "": not checked


MODEL_GRACE_S: Final = 1800  # a model is downloaded first
_MODEL: Final[dict[str, Any]] = {"name": "MODEL", "label": gettext_noop("Model to load"), "kind": "text", "required": True}
_HF_TOKEN: Final = {
    "name": "HF_TOKEN",
    "label": gettext_noop("Hugging Face token, for models that need one"),
    "kind": "secret",
}
_PASSWORD: Final = {"name": "PASSWORD", "label": gettext_noop("Password of the page"), "kind": "secret"}


OFFICIAL: Final = (
    Official(
        slug="ssh-jupyter",
        image="berth-base",
        title="SSH + JupyterLab",
        icon="🧰",
        category=Category.DEVELOPMENT,
        description=gettext_noop("A plain system with SSH, JupyterLab and TensorBoard."),
        readme=gettext_noop(
            "# SSH + JupyterLab\n\n"
            "JupyterLab opens from the page of the instance, and SSH works with your keys.\n\nFiles in `/data` stay.\n\n"
            "Install what you need with `apt` and `pip`.\n"
        ),
    ),
    Official(
        slug="pytorch",
        image="pytorch",
        title="PyTorch",
        icon="🔥",
        category=Category.TRAINING,
        description=gettext_noop("PyTorch with CUDA, JupyterLab and SSH."),
        readme=gettext_noop(
            "# PyTorch\n\n"
            "JupyterLab opens from the page of the instance, and SSH works with your keys.\n\nFiles in `/data` stay.\n\n"
            "Check that it sees the GPU:\n\n```\npython -c 'import torch; print(torch.cuda.is_available())'\n```\n"
        ),
        min_vram_gb=4,
    ),
    Official(
        slug="tensorflow",
        image="tensorflow",
        title="TensorFlow",
        icon="🧠",
        category=Category.TRAINING,
        description=gettext_noop("TensorFlow with CUDA, JupyterLab and SSH."),
        readme=gettext_noop(
            "# TensorFlow\n\n"
            "JupyterLab opens from the page of the instance, and SSH works with your keys.\n\nFiles in `/data` stay.\n\n"
            "TensorBoard shows the logs in `/root/tf-logs`.\n"
        ),
        min_vram_gb=4,
    ),
    Official(
        slug="llm-server",
        image="llm",
        title=gettext_noop("LLM server"),
        icon="💬",
        category=Category.INFERENCE,
        description=gettext_noop("An OpenAI-compatible server for a model of the Hugging Face hub."),
        readme=gettext_noop(
            "# LLM server\n\n"
            "Answers as OpenAI's API does, at `/v1` of port 8000, as soon as the model is loaded. The key is the secret "
            "`API_KEY`. Without one of your own it is the instance's token, which also opens JupyterLab: set your own "
            "before you share the address. `echo $JUPYTER_TOKEN` shows the instance's token in a terminal.\n\n"
            '```\ncurl http://HOST:PORT/v1/chat/completions -H "Authorization: Bearer $KEY" '
            "-H 'Content-Type: application/json' \\\n"
            '  -d \'{"model": "Qwen/Qwen2.5-0.5B-Instruct", "messages": [{"role": "user", "content": "Hello"}]}\'\n```\n\n'
            "Models stay in `/data/huggingface`. `SERVER_OPTIONS` are options of `vllm serve`.\n"
        ),
        min_vram_gb=8,
        data_disk_gb=50,
        inputs=(
            _MODEL | {"default": "Qwen/Qwen2.5-0.5B-Instruct"},
            _HF_TOKEN,
            {"name": "API_KEY", "label": gettext_noop("API key that clients send"), "kind": "secret"},
        ),
        port={"port": 8000, "name": "API", "protocol": "http"},
        ready_at="/health",
    ),
    Official(
        slug="diffusion",
        image="diffusion",
        title=gettext_noop("Diffusion"),
        icon="🎨",
        category=Category.IMAGES,
        description=gettext_noop("Pictures from words, in a Gradio page."),
        readme=gettext_noop(
            "# Diffusion\n\n"
            "The page is at port 7860 as soon as the model is loaded. The user is `berth`. The password is the secret "
            "`PASSWORD`. Without one of your own it is the instance's token, which also opens JupyterLab: set your own "
            "before you share the address. `echo $JUPYTER_TOKEN` shows the instance's token in a terminal.\n\n"
            "Models stay in `/data/huggingface`.\n"
        ),
        min_vram_gb=8,
        data_disk_gb=50,
        inputs=(
            _MODEL | {"default": "stabilityai/sd-turbo"},
            _HF_TOKEN,
            _PASSWORD,
        ),
        port={"port": 7860, "name": "Gradio", "protocol": "http"},
    ),
    Official(
        slug="fine-tuning",
        image="finetune",
        title=gettext_noop("Fine-tuning"),
        icon="🎯",
        category=Category.TRAINING,
        description=gettext_noop("TRL, PEFT and Datasets on PyTorch, with JupyterLab and SSH."),
        readme=gettext_noop(
            "# Fine-tuning\n\n"
            'Trains a LoRA on conversations, one JSON object `{"messages": […]}` a line:\n\n'
            "```\npython /usr/share/berth/images/finetune/sft.py Qwen/Qwen2.5-0.5B /data/talk.jsonl /data/tuned\n```\n\n"
            "For other methods, see `trl --help`. Files in `/data` stay.\n"
        ),
        min_vram_gb=12,
        data_disk_gb=100,
        inputs=(_HF_TOKEN,),
    ),
    Official(
        slug="ray",
        image="ray",
        title="Ray",
        icon="🌐",
        category=Category.DATA,
        description=gettext_noop("The head of a Ray cluster, with its dashboard and its API for jobs."),
        readme=gettext_noop(
            "# Ray\n\n"
            "The dashboard and the API for jobs are at port 8265. The token is the secret `RAY_AUTH_TOKEN`. "
            "Without one of your own it is the instance's token, which also opens JupyterLab: set your own before you share "
            "the address. `echo $JUPYTER_TOKEN` shows the instance's token in a terminal.\n\n"
            "```\nexport RAY_AUTH_MODE=token RAY_AUTH_TOKEN=…\n"
            "ray job submit --address http://HOST:PORT --working-dir . -- python train.py\n```\n"
        ),
        inputs=({"name": "RAY_AUTH_TOKEN", "label": gettext_noop("Token of the cluster"), "kind": "secret"},),
        port={"port": 8265, "name": "Ray", "protocol": "http"},
        ready_at="/api/gcs_healthz",
    ),
    Official(
        slug="code-server",
        image="code-server",
        title="VS Code",
        icon="📝",
        category=Category.DEVELOPMENT,
        description=gettext_noop("VS Code in the browser, by code-server."),
        readme=gettext_noop(
            "# VS Code\n\n"
            "The editor is at port 8080 and opens `/data`. The password is the secret `PASSWORD`. "
            "Without one of your own it is the instance's token, which also opens JupyterLab: set your own before you share "
            "the address. `echo $JUPYTER_TOKEN` shows the instance's token in a terminal.\n"
        ),
        inputs=(_PASSWORD,),
        port={"port": 8080, "name": "VS Code", "protocol": "http"},
        ready_at="/healthz",
    ),
)
