package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a parsed inventory of Ansible; variables are not resolved.
type Source struct {
	Hosts  []string // in the order of their first appearance
	Groups []string // in the order of their first appearance, without all and ungrouped
	// members and children are the direct hosts and groups of a group.
	members, children map[string][]string
	isMember          map[membership]bool
	// hostVars and groupVars are the variables by host and by group; "all" is a group.
	// Until settle has merged them, they lack those of hostFiles and groupFiles, which come
	// from host_vars and group_vars.
	hostVars, groupVars   map[string]vars
	hostFiles, groupFiles map[string]vars
	// priority is ansible_group_priority; 1 when absent.
	priority map[string]int
	// hostAt and groupAt are the places where a host or group appears first.
	hostAt, groupAt map[string]string
	notes           []Note
	// Translate translates a text with Jinja into a text of deployer's inventory; its
	// error names the part without an equivalent. nil leaves out all texts with Jinja.
	Translate func(text string) (string, error)
}

// membership is a host directly in a group.
type membership struct{ group, host string }

// vars are variables by name.
type vars map[string]value

// value is the value of a variable and the place that sets it.
type value struct {
	scalar
	at string // "hosts.ini:12", "group_vars/all.yml:3"
}

func newSource() *Source {
	s := &Source{members: map[string][]string{}, children: map[string][]string{}, isMember: map[membership]bool{}, priority: map[string]int{},
		hostVars: map[string]vars{}, groupVars: map[string]vars{}, hostFiles: map[string]vars{}, groupFiles: map[string]vars{},
		hostAt: map[string]string{}, groupAt: map[string]string{}}
	s.group("all", "")
	s.group("ungrouped", "")
	return s
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
	if info.IsDir() {
		err = s.readDirectory(path)
	} else {
		dir = filepath.Dir(path)
		err = s.readFile(path, filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	if len(s.Hosts) == 0 {
		var why strings.Builder
		for _, n := range s.notes {
			fmt.Fprintf(&why, "\n%s", n)
		}
		return nil, fmt.Errorf("%s names no hosts%s", path, why.String())
	}
	if isKubespray(s) {
		s.wholeCluster()
	}
	if err := s.readVarsDirs(dir); err != nil {
		return nil, err
	}
	s.noteConfig(dir)
	s.fillUngrouped()
	s.settle()
	return s, nil
}

func (s *Source) note(at, what, why string) { s.notes = append(s.notes, Note{at, what, why}) }

func (s *Source) host(name, at string) {
	if s.hostVars[name] == nil {
		s.hostVars[name], s.hostAt[name] = vars{}, at
		s.Hosts = append(s.Hosts, name)
	}
}

func (s *Source) group(name, at string) {
	if s.groupVars[name] == nil {
		s.groupVars[name], s.groupAt[name] = vars{}, at
		if name != "all" && name != "ungrouped" {
			s.Groups = append(s.Groups, name)
		}
	}
}

// addHost adds a host to a group, and makes both where they are new. Only a new host
// takes the port, which is 0 when there is none.
func (s *Source) addHost(group, name string, port int, at string) {
	s.group(group, at)
	if s.hostVars[name] == nil {
		s.host(name, at)
		if port != 0 {
			s.hostVars[name]["ansible_port"] = value{scalar{v: port}, at}
		}
	}
	if m := (membership{group, name}); !s.isMember[m] {
		s.isMember[m] = true
		s.members[group] = append(s.members[group], name)
	}
}

// addChild makes a group the child of another. It refuses a loop of groups.
func (s *Source) addChild(group, child, at string) error {
	s.group(group, at)
	s.group(child, at)
	if slices.Contains(s.below(child), group) {
		return fmt.Errorf("%s: group %s cannot be a child of %s, which it contains itself", at, child, group)
	}
	if group != "all" && !slices.Contains(s.children[group], child) {
		s.children[group] = append(s.children[group], child)
	}
	return nil
}

// below lists a group and its descendants, each once.
func (s *Source) below(group string) []string {
	out := []string{group}
	for i := 0; i < len(out); i++ {
		for _, c := range s.children[out[i]] {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// in lists the hosts of a group and of its descendants, in the order of Hosts. in
// returns nil for an unknown group.
func (s *Source) in(group string) []string {
	found := map[string]bool{}
	for _, g := range s.below(group) {
		for _, h := range s.members[g] {
			found[h] = true
		}
	}
	var out []string
	for _, h := range s.Hosts {
		if found[h] {
			out = append(out, h)
		}
	}
	return out
}
