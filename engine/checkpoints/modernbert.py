"""What config.json says of ModernBERT's windows and angles: as it was published, and as now.

The first form has a number for each; transformers 5 writes a list of layers and an object.
"""

from typing import Any

FULL, SLIDING = "full_attention", "sliding_attention"
IRREGULAR = "irregular_layers"  # no pattern that ours can have
SCALED = "rope_type"


def as_published(config: dict[str, Any]) -> dict[str, Any]:
    """A config of either form in the first one; what is no such config stays as it is."""
    found = dict(config)
    layers = config.get("layer_types")
    if isinstance(layers, list):
        every = next((n for n in range(1, len(layers)) if layers[n] == FULL), max(1, len(layers)))
        wanted = [SLIDING if n % every else FULL for n in range(len(layers))]
        found["global_attn_every_n_layers"] = every
        if layers != wanted:
            found[IRREGULAR] = True
    rope = config.get("rope_parameters")
    if isinstance(rope, dict):
        for kind, name in ((FULL, "global_rope_theta"), (SLIDING, "local_rope_theta")):
            said = rope.get(kind)
            if isinstance(said, dict):
                found[name] = said.get("rope_theta", found.get(name))
                if said.get("rope_type", "default") != "default":
                    found[SCALED] = said["rope_type"]
    return found


def entries(values: dict[str, Any]) -> dict[str, Any]:
    """The second form of what is in a config of the first."""
    every = values["global_attn_every_n_layers"]
    return {
        "layer_types": [SLIDING if n % every else FULL for n in range(values["num_hidden_layers"])],
        "rope_parameters": {
            FULL: {"rope_type": "default", "rope_theta": values["global_rope_theta"]},
            SLIDING: {"rope_type": "default", "rope_theta": values["local_rope_theta"]},
        },
    }
