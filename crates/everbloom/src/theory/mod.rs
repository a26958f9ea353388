//! Shared formulas as pure functions, each citing its equation.
