"""Task heads that transformers lacks for a family, on its own encoder."""

from typing import Any

from torch import Tensor, nn
from transformers import NomicBertModel
from transformers.modeling_outputs import MultipleChoiceModelOutput, QuestionAnsweringModelOutput
from transformers.models.nomic_bert.modeling_nomic_bert import NomicBertPreTrainedModel


class NomicBertForQuestionAnswering(NomicBertPreTrainedModel):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.nomic_bert = NomicBertModel(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()

    def forward(self, input_ids: Tensor, **options: Any) -> QuestionAnsweringModelOutput:
        result = self.nomic_bert(input_ids, **options)
        start, end = self.qa_outputs(result.last_hidden_state).unbind(-1)
        return QuestionAnsweringModelOutput(
            start_logits=start,
            end_logits=end,
            hidden_states=result.hidden_states,
            attentions=result.attentions,
        )


class NomicBertForMultipleChoice(NomicBertPreTrainedModel):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.nomic_bert = NomicBertModel(config, add_pooling_layer=True)
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, **options: Any
    ) -> MultipleChoiceModelOutput:
        flat = (x.flatten(0, 1) for x in (input_ids, attention_mask, token_type_ids))
        ids, mask, segments = flat
        result = self.nomic_bert(ids, attention_mask=mask, token_type_ids=segments, **options)
        logits = self.classifier(result.pooler_output)
        return MultipleChoiceModelOutput(
            logits=logits.view(input_ids.shape[:2]),
            hidden_states=result.hidden_states,
            attentions=result.attentions,
        )
