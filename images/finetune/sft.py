"""Fine-tune a model with LoRA on a file of conversations: python sft.py MODEL conversations.jsonl FOLDER [steps].

Each line is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}.
"""

import sys

import torch
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


def main(model: str, file: str, folder: str, steps: str = "-1") -> None:
    on_gpu = torch.cuda.is_available()
    has_bf16 = on_gpu and torch.cuda.is_bf16_supported()
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=folder,
            max_steps=int(steps),
            logging_steps=1,
            report_to="none",
            use_cpu=not on_gpu,
            bf16=has_bf16,
            fp16=on_gpu and not has_bf16,
        ),
        train_dataset=load_dataset("json", data_files=file, split="train"),
        peft_config=LoraConfig(r=16, target_modules="all-linear"),
    )
    trainer.train()
    trainer.save_model(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
