"""Analysis on the exact tangent: linearisation, vibration modes, sensitivities."""
