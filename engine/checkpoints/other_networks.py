"""Known but unsupported networks, and the supported alternatives.

The error for an unsupported model names its kind in one sentence.
"""

from dataclasses import dataclass

from engine.errors import BadCheckpoint
from engine.phrases import Phrase, phrase


@dataclass(frozen=True)
class Other:
    """An unsupported kind of network.

    Args:
        title: name in papers.
        classes: prefix of its classes in transformers.
        encodes: True for text encoders like BERT.
        reason: a sentence on what the program lacks, or what to load instead.
    """

    title: str
    classes: str
    encodes: bool = False
    reason: Phrase | None = None


ENCODERS = {  # model_type → kind
    "big_bird": Other("BigBird", "BigBird", True),
    "bros": Other("BROS", "Bros", True),
    "canine": Other("CANINE", "Canine", True),
    "convbert": Other("ConvBERT", "ConvBert", True),
    "data2vec-text": Other("data2vec", "Data2VecText", True),
    "deberta": Other(
        "DeBERTa (the first version)",
        "Deberta",
        True,
        phrase(
            "Its layers project distances by matrices of their own, which no network here has. "
            "DeBERTa v3 can be loaded."
        ),
    ),
    "ernie_m": Other("ERNIE-M", "ErnieM", True),
    "esm": Other("ESM", "Esm", True),
    "eurobert": Other(
        "EuroBERT",
        "EuroBert",
        True,
        phrase(
            "Its layers are those of Llama, with RMSNorm and heads that share keys, which no "
            "network here has. XLM-RoBERTa and mmBERT read the same languages."
        ),
    ),
    "flaubert": Other("FlauBERT", "Flaubert", True),
    "fnet": Other("FNet", "FNet", True),
    "funnel": Other("Funnel Transformer", "Funnel", True),
    "ibert": Other("I-BERT", "IBert", True),
    "layoutlm": Other("LayoutLM", "LayoutLM", True),
    "longformer": Other(
        "Longformer",
        "Longformer",
        True,
        phrase(
            "A few of its tokens attend to all others with weights of their own, which no network "
            "here has. ModernBERT reads twice as many tokens."
        ),
    ),
    "luke": Other("LUKE", "Luke", True),
    "megatron-bert": Other("Megatron-BERT", "MegatronBert", True),
    "mobilebert": Other("MobileBERT", "MobileBert", True),
    "mra": Other("MRA", "Mra", True),
    "new": Other(
        "GTE with its own code",
        "New",
        True,
        phrase("Copies for transformers 5, whose model_type is “gte”, can be loaded."),
    ),
    "nezha": Other("NEZHA", "Nezha", True),
    "nystromformer": Other("Nyströmformer", "Nystromformer", True),
    "rembert": Other("RemBERT", "RemBert", True),
    "retribert": Other("RetriBERT", "RetriBert", True),
    "roberta-prelayernorm": Other("RoBERTa-PreLayerNorm", "RobertaPreLayerNorm", True),
    "roformer": Other("RoFormer", "RoFormer", True),
    "splinter": Other("Splinter", "Splinter", True),
    "squeezebert": Other("SqueezeBERT", "SqueezeBert", True),
    "tapas": Other("TAPAS", "Tapas", True),
    "xlm": Other("XLM", "XLM", True),
    "xlm-roberta-xl": Other("XLM-RoBERTa-XL", "XLMRobertaXL", True),
    "xmod": Other("X-MOD", "Xmod", True),
    "yoso": Other("YOSO", "Yoso", True),
}
OTHERS = ENCODERS | {
    "bart": Other("BART", "Bart"),
    "bert-generation": Other("BERT Generation", "BertGeneration"),
    "bloom": Other("BLOOM", "Bloom"),
    "clip": Other("CLIP", "CLIP"),
    "encoder-decoder": Other("Encoder-decoder", "EncoderDecoder"),
    "falcon": Other("Falcon", "Falcon"),
    "gemma": Other("Gemma", "Gemma"),
    "gemma2": Other("Gemma 2", "Gemma2"),
    "gemma3": Other("Gemma 3", "Gemma3"),
    "gpt2": Other("GPT-2", "GPT2"),
    "gpt_neo": Other("GPT-Neo", "GPTNeo"),
    "gpt_neox": Other("GPT-NeoX", "GPTNeoX"),
    "gptj": Other("GPT-J", "GPTJ"),
    "llama": Other("Llama", "Llama"),
    "m2m_100": Other("M2M-100", "M2M100"),
    "marian": Other("Marian", "Marian"),
    "mbart": Other("mBART", "MBart"),
    "mistral": Other("Mistral", "Mistral"),
    "model2vec": Other("A static model (model2vec)", "StaticModel"),
    "mt5": Other("mT5", "MT5"),
    "openai-gpt": Other("GPT", "OpenAIGPT"),
    "opt": Other("OPT", "OPT"),
    "pegasus": Other("PEGASUS", "Pegasus"),
    "phi": Other("Phi", "Phi"),
    "qwen2": Other("Qwen2", "Qwen2"),
    "qwen3": Other("Qwen3", "Qwen3"),
    "t5": Other("T5", "T5"),
    "vit": Other("ViT", "ViT"),
    "wav2vec2": Other("wav2vec 2.0", "Wav2Vec2"),
    "whisper": Other("Whisper", "Whisper"),
    "xlnet": Other("XLNet", "XLNet"),
}


def refusal(name: str, shown: str, supported: str) -> BadCheckpoint:
    """The error for an unsupported model, with alternatives.

    Args:
        name: its model_type, or the class that its weights were saved from.
        shown: the same, sanitised for display.
        supported: the supported families, as a list in words.
    """
    other = _other(name)
    advice = phrase("Choose a checkpoint whose config.json names one of these as its model_type.")
    if other is None:
        why = phrase(
            "“{named}” is not a supported model type; BERT Studio supports {supported}.",
            named=shown,
            supported=supported,
        )
    elif other.encodes:
        why = phrase(
            "{title} is an encoder that BERT Studio does not support; it supports {supported}.",
            title=other.title,
            supported=supported,
        )
        advice = other.reason or phrase(
            "Choose a model of one of these families; most languages have one."
        )
    else:
        why = phrase(
            "{title} is not a text encoder like BERT, so it cannot be used here; BERT Studio "
            "supports {supported}.",
            title=other.title,
            supported=supported,
        )
        advice = phrase("Choose an encoder of one of these families.")
    return BadCheckpoint(why, advice)


def _other(name: str) -> Other | None:
    """The network with that model_type, or the longest matching class prefix."""
    if name in OTHERS:
        return OTHERS[name]
    matching = [other for other in OTHERS.values() if name.startswith(other.classes)]
    return max(matching, key=lambda other: len(other.classes), default=None)
