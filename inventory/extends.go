package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// maxExtended is the maximum number of files that an inventory extends, directly or not. An
// inventory with more is a mistake or an attack: files that each extend two others twice
// double the work at every level.
const maxExtended = 100

// extendsList is a list of paths: a YAML list, or one text.
type extendsList []extendsPath

type extendsPath struct {
	path string
	node *yaml.Node
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *extendsList) UnmarshalYAML(n *yaml.Node) error {
	items := []*yaml.Node{n}
	switch n.Kind {
	case yaml.SequenceNode:
		items = n.Content
	case yaml.MappingNode:
		return strictyaml.At("", n).Errorf("want a path or a list of paths, got a mapping")
	}
	*l = nil
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" || item.Value == "" {
			return strictyaml.At("", item).Errorf("want a path here")
		}
		*l = append(*l, extendsPath{item.Value, item})
	}
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (extendsList) YAMLSchema() map[string]any { return nameList{}.YAMLSchema() }

// extended returns the tree of the file laid over the files that it extends, and the
// secrets of all of them. Without the tree the file is not YAML; other errors, of type
// strictyaml.Errors, come beside it.
func (s source) extended() (*yaml.Node, []string, error) {
	x := &extender{source: s, repository: repositoryOf(s.dir)}
	root, err := x.parse(s.name, s.data)
	if err != nil {
		return nil, nil, err
	}
	root = x.over(root, layeredFile{s.name, filepath.Join(s.dir, filepath.Base(s.name))}, nil)
	slices.Sort(x.secrets)
	return root, slices.Compact(x.secrets), strictyaml.Join(x.errs...)
}

// extender reads the files that an inventory extends.
type extender struct {
	source
	repository string // absolute directory above all files; empty for none
	files      int
	secrets    []string
	errs       []error
}

// layeredFile is a file of an inventory: its name as shown, and its absolute path.
type layeredFile struct{ name, path string }

func (x *extender) parse(name string, data []byte) (*yaml.Node, error) {
	root, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	secrets, err := strictyaml.ResolveTags(name, root, x.env)
	x.secrets = append(x.secrets, secrets...)
	if err != nil {
		x.errs = append(x.errs, err)
	}
	return root, nil
}

// over returns root, the tree of file, laid over the files that it extends. from are the
// files that lead to it.
func (x *extender) over(root *yaml.Node, file layeredFile, from []layeredFile) *yaml.Node {
	var head struct {
		Extends extendsList `yaml:"extends"`
	}
	key := valueOf(root, "extends")
	if key == nil {
		return root
	}
	if err := strictyaml.DecodeAs(file.name, "extends", &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "extends"}, key}}, &head); err != nil {
		if len(from) > 0 { // that of the inventory itself is reported when it is decoded
			x.errs = append(x.errs, err)
		}
		return root
	}
	var below *yaml.Node
	for _, e := range head.Extends {
		if tree := x.file(e, file, append(from[:len(from):len(from)], file)); tree != nil {
			below = strictyaml.Overlay(below, tree)
		}
	}
	return strictyaml.Overlay(below, root)
}

// file returns the tree of a file that another one extends, without its key extends; nil,
// with an error noted, when it cannot be read.
func (x *extender) file(e extendsPath, by layeredFile, from []layeredFile) *yaml.Node {
	fail := func(format string, args ...any) *yaml.Node {
		x.errs = append(x.errs, strictyaml.At(by.name, e.node).Errorf("extends: "+format, args...))
		return nil
	}
	if filepath.IsAbs(e.path) {
		return fail("%s is an absolute path; write it relative to this file", e.path)
	}
	file := layeredFile{filepath.Join(filepath.Dir(by.name), e.path), filepath.Join(filepath.Dir(by.path), e.path)}
	if i := slices.IndexFunc(from, func(f layeredFile) bool { return f.path == file.path }); i >= 0 {
		names := []string{}
		for _, f := range append(from[i:], file) {
			names = append(names, f.name)
		}
		return fail("the files extend each other: %s", strings.Join(names, " -> "))
	}
	if x.files++; x.files > maxExtended {
		if x.files == maxExtended+1 {
			return fail("the inventory extends more than %d files", maxExtended)
		}
		return nil
	}
	if err := x.inRepository(file.path); err != nil {
		return fail("%s: %v", e.path, err)
	}
	data, err := x.read(file.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("there is no file %s", file.name)
	case err != nil:
		return fail("%v", err)
	}
	root, err := x.parse(file.name, data)
	if err != nil {
		x.errs = append(x.errs, err)
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return fail("%s has no mapping of sections", file.name)
	}
	strictyaml.SetOrigin(file.name, root)
	root = x.over(root, file, from)
	out := *root
	out.Content = nil
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "extends" {
			out.Content = append(out.Content, root.Content[i], root.Content[i+1])
		}
	}
	return &out
}

// inRepository returns an error when a path leads out of the repository, through .. or
// through a symbolic link. A file that does not exist is the reader's error.
func (x *extender) inRepository(path string) error {
	if x.repository == "" {
		return nil
	}
	for _, p := range []func(string) (string, error){func(p string) (string, error) { return p, nil }, filepath.EvalSymlinks} {
		at, err := p(path)
		if err != nil {
			return nil //nolint:nilerr // the caller reads the file and reports the error
		}
		top, err := p(x.repository)
		if err != nil {
			return fmt.Errorf("finding the repository: %w", err)
		}
		if rel, err := filepath.Rel(top, at); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return fmt.Errorf("the path leads out of the repository %s; copy the file into it", x.repository)
		}
	}
	return nil
}

// repositoryOf returns the work tree of git that a directory is in; empty for none.
func repositoryOf(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
