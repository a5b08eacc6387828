package addons

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kustomize/api/konfig"

	"deployer/strictyaml"
)

// reference is a text of a kustomization that names a file or a directory.
type reference struct {
	path string
	base bool // kustomize clones a repository when it is neither
}

// references returns the texts of a file that kustomize may read as paths: in a kustomization its bases, and
// in it and in configurations of built-in transformers all texts that could be URLs. A text that is none, such
// as a label, is no harm unless it is a URL alone in a field for paths.
func references(name string, content []byte) []reference {
	var out []reference
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var root yaml.Node
		if err := decoder.Decode(&root); err != nil {
			return out // kustomize reports errors of syntax
		}
		if len(root.Content) == 0 {
			continue
		}
		document := root.Content[0]
		switch {
		case slices.Contains(konfig.RecognizedKustomizationFileNames(), name):
			for _, key := range []string{"resources", "bases", "components"} {
				for _, path := range scalarsOf(strictyaml.ValueOf(document, key)) {
					out = append(out, reference{path, true})
				}
			}
			out = append(out, pathsBelow(document)...)
		case isBuiltinConfiguration(document):
			out = append(out, pathsBelow(document)...)
		}
	}
}

// isBuiltinConfiguration reports whether a document configures a transformer or generator of kustomize.
func isBuiltinConfiguration(n *yaml.Node) bool {
	version := strictyaml.ValueOf(n, "apiVersion")
	return version != nil && version.Value == "builtin"
}

// pathFields are the fields of kustomizations and of built-in transformers that name files
// (sigs.k8s.io/kustomize/api/types).
var pathFields = []string{
	"path", "paths", "files", "env", "envs", "crds", "configurations", "transformers", "generators", "validators",
	"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "valuesFile", "additionalValuesFiles",
}

// pathsBelow returns the texts in fields for paths, at any depth. An item of the form key=path is
// its path.
func pathsBelow(n *yaml.Node) []reference {
	var out []reference
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if slices.Contains(pathFields, c.Value) {
				for _, path := range scalarsOf(n.Content[i+1]) {
					out = append(out, reference{path: afterKey(path)})
				}
			}
			continue
		}
		out = append(out, pathsBelow(c)...)
	}
	return out
}

// afterKey returns the path of a text key=path.
func afterKey(text string) string {
	for i := range len(text) {
		switch text[i] {
		case '=':
			return text[i+1:]
		case ':', '/':
			return text
		}
	}
	return text
}

// scalarsOf returns a text, or the texts of a list.
func scalarsOf(n *yaml.Node) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.AliasNode:
		return scalarsOf(n.Alias)
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	case n.Kind != yaml.SequenceNode:
		return nil
	}
	var out []string
	for _, c := range n.Content {
		if c.Kind != yaml.SequenceNode {
			out = append(out, scalarsOf(c)...)
		}
	}
	return out
}
