package docgen

import (
	"testing"

	"deployer/strictyaml"
)

// TestPermittedValues: the reference shows closed sets, grammars and ranges of arguments.
func TestPermittedValues(t *testing.T) {
	var args struct {
		State   string            `yaml:"state" rule:"in:a,b,c"`
		Sets    []string          `yaml:"sets" rule:"in:a,b"`
		Path    string            `yaml:"path" rule:"path"`
		Paths   []string          `yaml:"paths" rule:"path"`
		Headers map[string]string `yaml:"headers" rule:"line" keys:"variable"`
		Port    int               `yaml:"port" range:"1..65535"`
		Bytes   int               `yaml:"bytes" range:"0.."`
		Free    string            `yaml:"free" rule:"text"`
	}
	want := []string{
		"a, b or c", "list of text, each a or b", "text: an absolute path such as /etc/motd", "list of text, each an absolute path such as /etc/motd",
		"mapping of text; keys: the name of a variable", "whole number from 1 to 65535", "whole number", "text",
	}
	for i, key := range strictyaml.Describe(args) {
		if got := KeyType(key); got != want[i] {
			t.Errorf("%s is %q, want %q", key.Path, got, want[i])
		}
	}
}
