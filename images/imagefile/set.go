package imagefile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"deployer/engine/graph"
)

// Set is the graph of images: each image comes after its base.
type Set struct {
	files []File // bases first
}

// NewSet returns the graph of files. Names given twice, bases that do not exist and
// circles of bases are errors.
func NewSet(files []File) (*Set, error) {
	byName := map[string]File{}
	order := graph.New[string]()
	var problems []error
	for _, f := range files {
		if _, ok := byName[f.Name]; ok {
			problems = append(problems, fmt.Errorf("image %s is declared twice", f.Name))
		}
		byName[f.Name] = f
		order.Add(f.Name)
	}
	for _, f := range files {
		if f.Base == Scratch || f.FromRegistry() {
			continue
		}
		if _, ok := byName[f.Base]; !ok {
			problems = append(problems, fmt.Errorf("image %s: base %q is no image of the graph, nor scratch, nor a reference with a registry such as registry.example/%[2]s", f.Name, f.Base))
			continue
		}
		order.AddEdge(f.Base, f.Name)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	sorted, err := order.Order()
	if err != nil {
		return nil, fmt.Errorf("bases of images: %w", err)
	}
	s := &Set{}
	for _, name := range sorted {
		s.files = append(s.files, byName[name])
	}
	return s, nil
}

// Files returns the images, bases first.
func (s *Set) Files() []File { return slices.Clone(s.files) }

// File returns the image of that name.
func (s *Set) File(name string) (File, error) {
	for _, f := range s.files {
		if f.Name == name {
			return f, nil
		}
	}
	return File{}, fmt.Errorf("no image %q, there are %s", name, strings.Join(s.Names(), ", "))
}

// Has reports whether the set has an image of that name.
func (s *Set) Has(name string) bool {
	return slices.ContainsFunc(s.files, func(f File) bool { return f.Name == name })
}

// Names returns the names of the images, bases first.
func (s *Set) Names() []string {
	names := make([]string, len(s.files))
	for i, f := range s.files {
		names[i] = f.Name
	}
	return names
}

// WithBases returns the names and those of all their bases in the graph, bases first.
func (s *Set) WithBases(names ...string) []string {
	wanted := map[string]bool{}
	for _, f := range slices.Backward(s.files) {
		if slices.Contains(names, f.Name) {
			wanted[f.Name] = true
		}
		if wanted[f.Name] {
			wanted[f.Base] = true
		}
	}
	return s.filter(wanted)
}

// WithDependents returns the names and those of all images on top of them, bases first.
func (s *Set) WithDependents(names ...string) []string {
	wanted := map[string]bool{}
	for _, f := range s.files {
		wanted[f.Name] = slices.Contains(names, f.Name) || wanted[f.Base]
	}
	return s.filter(wanted)
}

func (s *Set) filter(wanted map[string]bool) []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return !wanted[name] })
}
