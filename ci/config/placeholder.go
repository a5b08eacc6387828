package config

import "strings"

// Placeholder returns the value that an environment variable has in inventories while a push
// is assessed and the variable is not set: that of placeholders; for an input of a stage that
// is the same text in all stages, the text; for a secret and for an output of a stage a host
// name below .invalid. declared is false for any other variable.
func (c *Config) Placeholder(name string) (value string, declared bool) {
	if value, declared = c.Placeholders[name]; declared {
		return value, true
	}
	for _, e := range c.Stages {
		input, is := e.Value.Inputs[name]
		if !is || e.Value.Uses == "" {
			continue
		}
		if _, _, output := c.Reference(input); output || declared && input != value {
			return DefaultPlaceholder(name), true
		}
		value, declared = input, true
	}
	for _, s := range c.Secrets {
		if s.Env == name {
			return DefaultPlaceholder(name), true
		}
	}
	return value, declared
}

// DefaultPlaceholder returns a text for a variable without a known value. The text is a host name
// that no host has, so that most keys of inventories accept it, and it differs by variable.
func DefaultPlaceholder(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.Trim(name, "_"), "_", "-")) + ".invalid"
}
