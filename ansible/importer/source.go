package importer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Source is a parsed inventory of Ansible; variables are not resolved.
type Source struct {
	Hosts  []string // in the order of their first appearance
	Groups []string // in the order of their first appearance, without all and ungrouped
	// members and children are the direct hosts and groups of a group.
	members, children map[string][]string
	// hostVars and groupVars are the variables by host and by group; "all" is a group.
	hostVars, groupVars map[string]vars
	notes               []Note
	// Translate translates a text with Jinja into a text of deployer's inventory; its
	// error names the part without an equivalent. nil leaves out all texts with Jinja.
	Translate func(text string) (string, error)
}

// vars are variables by name.
type vars map[string]value

// value is the value of a variable and the place that sets it.
type value struct {
	v  any
	at string // "hosts.ini:12", "group_vars/all.yml"
}

func newSource() *Source {
	return &Source{members: map[string][]string{}, children: map[string][]string{}, hostVars: map[string]vars{}, groupVars: map[string]vars{}}
}

// Read reads an inventory file, or a directory of such files, with group_vars and
// host_vars beside it. Errors of syntax name file and line.
func Read(path string) (*Source, error) {
	s := newSource()
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the inventory: %w", err)
	}
	dir := path
	files := []string{path}
	if info.IsDir() {
		if files, err = inventoryFiles(path); err != nil {
			return nil, err
		}
	} else {
		dir = filepath.Dir(path)
	}
	for _, f := range files {
		if err := s.readFile(f); err != nil {
			return nil, err
		}
	}
	if len(s.Hosts) == 0 {
		return nil, fmt.Errorf("%s names no hosts", path)
	}
	return s, s.readVarsDirs(dir)
}

// inventoryFiles lists the files of a directory that Ansible reads, sorted by name.
func inventoryFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		ignored := slices.Contains([]string{".orig", ".cfg", ".retry", ".md", ".pyc", ".bak", "~"}, filepath.Ext(e.Name())) ||
			strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "~")
		if !e.IsDir() && !ignored {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no inventory file", dir)
	}
	return out, nil
}

func (s *Source) readFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the inventory: %w", err)
	}
	name := filepath.Base(path)
	switch text := bytes.TrimSpace(data); {
	case bytes.HasPrefix(text, []byte("#!")):
		return fmt.Errorf("%s is a program; run `ansible-inventory -i %s --list > hosts.json` and import hosts.json", path, path)
	case bytes.HasPrefix(text, []byte("$ANSIBLE_VAULT")):
		return fmt.Errorf("%s is encrypted: run `ansible-vault decrypt` on a copy of it first", path)
	case bytes.HasPrefix(text, []byte("{")):
		return s.readListing(name, data)
	case isYAML(name, text):
		return s.readYAML(name, data)
	}
	return s.readINI(name, string(data))
}

// isYAML decides by the extension, and by the content where the extension is another.
func isYAML(name string, text []byte) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		return true
	case ".ini":
		return false
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil || len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return false
	}
	return !bytes.HasPrefix(text, []byte("["))
}

func (s *Source) host(name string) {
	if s.hostVars[name] == nil {
		s.hostVars[name] = vars{}
		s.Hosts = append(s.Hosts, name)
	}
}

func (s *Source) group(name string) {
	if s.groupVars[name] == nil {
		s.groupVars[name] = vars{}
		if name != "all" && name != "ungrouped" {
			s.Groups = append(s.Groups, name)
		}
	}
}

// addHost adds a host to a group, and makes both where they are new.
func (s *Source) addHost(group, name string) {
	s.group(group)
	s.host(name)
	if !slices.Contains(s.members[group], name) {
		s.members[group] = append(s.members[group], name)
	}
}

func (s *Source) addChild(group, child string) {
	s.group(group)
	s.group(child)
	if group != "all" && !slices.Contains(s.children[group], child) {
		s.children[group] = append(s.children[group], child)
	}
}

// in lists the hosts of a group and of its descendants, in the order of Hosts. in
// returns nil for an unknown group.
func (s *Source) in(group string) []string {
	found := map[string]bool{}
	seen := map[string]bool{}
	var walk func(string)
	walk = func(g string) {
		if seen[g] {
			return
		}
		seen[g] = true
		for _, h := range s.members[g] {
			found[h] = true
		}
		for _, c := range s.children[g] {
			walk(c)
		}
	}
	walk(group)
	var out []string
	for _, h := range s.Hosts {
		if found[h] {
			out = append(out, h)
		}
	}
	return out
}

var errShape = errors.New("this is not the shape of an inventory")
