"""Every entry of a tokenizer_config.json is read, refused, or affects no token."""

import inspect

import pytest
import transformers
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

from engine.tokenizers.declared import CUSTOM_CLASSES, SUPPORTED

READ = {
    *("unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
    *("do_lower_case", "strip_accents", "tokenize_chinese_chars", "keep_accents"),
    *("add_prefix_space", "added_tokens_decoder", "additional_special_tokens"),
    *(
        "extra_special_tokens",
        "model_input_names",
        "tokenizer_class",
        "truncation_side",
        "model_max_length",
    ),
}
HARMLESS = {
    "vocab": "not in the file",
    "vocab_file": "the files are in the folder",
    "merges": "not in the file",
    "merges_file": "the files are in the folder",
    "errors": "decoding of bytes",
    "bos_token": "texts begin with [CLS]",
    "eos_token": "texts end with [SEP]",
    "trim_offsets": "offsets of a token, not its id",
    "padding_side": "padding is masked on either side",
    "clean_up_tokenization_spaces": "decoding of tokens",
    "chat_template": "there are no chats",
    "_spm_precompiled_charsmap": "comes from tokenizer.json",
}
KEYWORDS = {
    *("padding_side", "truncation_side", "model_input_names", "model_max_length"),
    *("clean_up_tokenization_spaces", "split_special_tokens", "chat_template"),
    *("extra_special_tokens", "additional_special_tokens", "added_tokens_decoder"),
}


@pytest.mark.parametrize(
    "name", ["BertTokenizer", "RobertaTokenizer", "AlbertTokenizer", "HerbertTokenizer"]
)
def test_every_entry_of_a_class_is_handled(name):
    parameters = inspect.signature(getattr(transformers, name).__init__).parameters
    named = parameters.keys() - {"self", "kwargs"}
    assert named | KEYWORDS <= READ | SUPPORTED.keys() | HARMLESS.keys()


def test_refused_classes_have_custom_code():
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    result = 0
    for name in CUSTOM_CLASSES:
        kind = getattr(transformers, name, None)
        if isinstance(kind, type) and issubclass(kind, PreTrainedTokenizerBase):
            result += not issubclass(kind, TokenizersBackend)
    assert result >= 8
