"""The league: SteinGLM with each of its scores, the baselines and the rivals, over data, depths and activations."""
