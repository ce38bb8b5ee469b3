"""Inference speed against transformers and onnxruntime."""
