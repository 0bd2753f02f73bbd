"""The bundled model: is a hypothesis supported by a premise, contradicted by it, or neither?

    load_entailer().predict([(premise, hypothesis), ...])   probabilities, one `Prediction` per pair
    load_encoder().encode([text, ...])                      one unit vector per text, for retrieval

Importing this loads neither numpy nor onnxruntime nor tokenizers; the first `load_…` does.
"""

from __future__ import annotations

from director_ai.nli.encoder import Encoder
from director_ai.nli.entailer import Entailer, Prediction
from director_ai.nli.inference import Counts
from director_ai.nli.loading import load_encoder, load_entailer
from director_ai.nli.manifest import ModelError

__all__ = ["Counts", "Encoder", "Entailer", "ModelError", "Prediction", "load_encoder", "load_entailer"]
