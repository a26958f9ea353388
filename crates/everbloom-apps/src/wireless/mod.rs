//! Sensors and radios.
