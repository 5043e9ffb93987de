"""A Gradio page for a text-to-image model: user `berth`, password PASSWORD."""

import os
from typing import Any

import gradio
import torch
from diffusers import AutoPipelineForText2Image

MODEL = os.environ["MODEL"]
PASSWORD = os.environ["PASSWORD"]
ON_GPU = torch.cuda.is_available()


def load() -> Any:
    found = AutoPipelineForText2Image.from_pretrained(MODEL, torch_dtype=torch.float16 if ON_GPU else torch.float32)
    return found.to("cuda" if ON_GPU else "cpu")


pipeline = load()


def paint(prompt: str, steps: float, size: float, seed: float) -> Any:
    """Return one picture; the same seed gives the same one again."""
    generator = torch.Generator(pipeline.device).manual_seed(int(seed))
    made = pipeline(prompt, num_inference_steps=int(steps), width=int(size), height=int(size), generator=generator)
    return made.images[0]


page = gradio.Interface(
    paint,
    [
        gradio.Textbox(label="Prompt"),
        gradio.Slider(1, 100, value=25, step=1, label="Steps"),
        gradio.Slider(64, 2048, value=512, step=64, label="Size in pixels"),
        gradio.Number(value=1, precision=0, label="Seed"),
    ],
    gradio.Image(label="Picture", format="png"),
    title="Berth diffusion",
    description=f"Model: {MODEL}",
    api_name="paint",
    flagging_mode="never",
)
page.queue(max_size=20).launch(
    server_name="0.0.0.0",  # noqa: S104 (the container's)
    server_port=7860,
    auth=("berth", PASSWORD),
    ssr_mode=False,
)
