//! Solving for the cells: peeling, linear systems, placement.
