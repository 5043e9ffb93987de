"""Make a tiny Llama that knows one answer by heart: enough to try the server without downloading a model."""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

QUESTION, ANSWER = "What is Berth?", "Berth is a market where people rent GPUs by the second."
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
STEPS = 120


def tokenizer() -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<pad>", "<user>", "<assistant>", "<system>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([QUESTION, ANSWER], trainer)
    roles = dict(zip(("bos_token", "eos_token", "pad_token"), special, strict=False))
    return PreTrainedTokenizerFast(tokenizer_object=made, chat_template=TEMPLATE, **roles)


def main() -> None:
    torch.manual_seed(1)
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    talk = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}]
    ids = torch.tensor([words.encode(words.apply_chat_template(talk, tokenize=False), add_special_tokens=False)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(STEPS):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.generation_config.do_sample = False
    model.save_pretrained(sys.argv[1])
    words.save_pretrained(sys.argv[1])
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
