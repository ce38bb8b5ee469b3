"""Task heads that transformers lacks for a family, on its own encoder."""

from typing import Any

from torch import Tensor, nn
from transformers import GteModel, GtePreTrainedModel, NomicBertModel
from transformers.modeling_outputs import MultipleChoiceModelOutput, QuestionAnsweringModelOutput
from transformers.models.nomic_bert.modeling_nomic_bert import NomicBertPreTrainedModel


class Answers:
    """A layer for answers on `encoder`, the name of the attribute with the encoder."""

    encoder: str
    model: type[nn.Module]

    def __init__(self, config: Any) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        setattr(self, self.encoder, self.model(config))
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()  # type: ignore[attr-defined]

    def forward(self, input_ids: Tensor, **options: Any) -> QuestionAnsweringModelOutput:
        result = getattr(self, self.encoder)(input_ids, **options)
        start, end = self.qa_outputs(result.last_hidden_state).unbind(-1)
        return QuestionAnsweringModelOutput(
            start_logits=start,
            end_logits=end,
            hidden_states=result.hidden_states,
            attentions=result.attentions,
        )


class Choices:
    """A layer for choices on `encoder`, the name of the attribute with the encoder."""

    encoder: str
    model: type[nn.Module]

    def __init__(self, config: Any) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        setattr(self, self.encoder, self.model(config, add_pooling_layer=True))
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()  # type: ignore[attr-defined]

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, **options: Any
    ) -> MultipleChoiceModelOutput:
        if "token_type_ids" in options:
            options["token_type_ids"] = options["token_type_ids"].flatten(0, 1)
        ids, mask = input_ids.flatten(0, 1), attention_mask.flatten(0, 1)
        result = getattr(self, self.encoder)(ids, attention_mask=mask, **options)
        logits = self.classifier(result.pooler_output)
        return MultipleChoiceModelOutput(
            logits=logits.view(input_ids.shape[:2]),
            hidden_states=result.hidden_states,
            attentions=result.attentions,
        )


class NomicBertForQuestionAnswering(Answers, NomicBertPreTrainedModel):
    encoder, model = "nomic_bert", NomicBertModel


class NomicBertForMultipleChoice(Choices, NomicBertPreTrainedModel):
    encoder, model = "nomic_bert", NomicBertModel


class GteForQuestionAnswering(Answers, GtePreTrainedModel):
    encoder, model = "gte", GteModel


class GteForMultipleChoice(Choices, GtePreTrainedModel):
    encoder, model = "gte", GteModel
