package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// randomValues are values as an INI inventory may have them.
var randomValues = []string{
	"1", "0", "-7", "007", "1.5", "2.0", "1e3", "1_000", "0x1F", "010", "yes", "no", "True", "false", "None", "null", "~", "''", "'12'",
	`"a b"`, "a=b", "10.0.0.1", "1.2.3", "56L", "[1, 2]", "['a', True]", "{'k': 1}", "{\"k\": true}", "1,2", "(1, 'x')", "[1", "{'a'", "on", "off",
	"22:22", "2026-11-27", "x#y", "a # b", "5 # five", "True # t", "'q' # q", "#", "/etc/x", "C:\\n", "it's", "blåbær", "[]", "{}", "- a", "a: b", "*x", "&y", "!z", "%d", "@at", "`b`", "|", ">",
}

// randomYAML are values as a YAML inventory may have them.
var randomYAML = []string{
	"1", "007", "089", "1.5", "2.0", "1e3", "1.0e+3", "1_000", "0x1F", "0o17", "yes", "No", "on", "OFF", "y", "true", "~", "null", "''", "'12'",
	`"a b"`, "10.0.0.1", "1.2.3", "22:22", "1:30:00", "2026-11-27", "[yes, 1, 010]", "{k: on, l: '1'}", "!!str 12", ".5", "1.", "+3", "!unsafe 'x'", "blåbær", "'a: b'", "'# c'", "[]", "{}",
}

// random writes an inventory with nested groups and variables on all levels into dir. The
// same seed writes the same inventory.
func random(dir string, seed uint64) error {
	r := &randomInventory{rand.New(rand.NewPCG(seed, 32)), dir, nil}
	r.groups = r.names("grp", 3+r.IntN(5))
	text, file := r.ini(), "hosts.ini"
	if r.IntN(2) == 0 {
		text, file = r.yaml(), "hosts.yml"
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		return err
	}
	return r.varsFiles()
}

type randomInventory struct {
	*rand.Rand
	dir    string
	groups []string
}

// names returns names in an order that is not that of the alphabet.
func (r *randomInventory) names(prefix string, n int) []string {
	out := make([]string, n)
	for i, x := range r.Perm(n) {
		out[i] = fmt.Sprintf("%s_%c", prefix, 'a'+x)
	}
	return out
}

func (r *randomInventory) pick(from []string) string { return from[r.IntN(len(from))] }

// name picks the name of a variable; there are few, so that layers meet.
func (r *randomInventory) name() string { return "v" + r.pick([]string{"1", "2", "3", "4", "5", "6"}) }

func (r *randomInventory) ini() string {
	var b strings.Builder
	for i, g := range r.groups {
		fmt.Fprintf(&b, "[%s]\n", g)
		for range r.IntN(4) {
			fmt.Fprintf(&b, "h%d%s\n", r.IntN(6), r.onLine())
		}
		if i+1 < len(r.groups) && r.IntN(2) == 0 { // children stand later, so there is no loop
			fmt.Fprintf(&b, "[%s:children]\n%s\n", g, r.pick(r.groups[i+1:]))
		}
		fmt.Fprintf(&b, "[%s:vars]\n", g)
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "ansible_group_priority=%d\n", r.IntN(4)-1)
		}
		for range r.IntN(4) {
			fmt.Fprintf(&b, "%s=%s\n", r.name(), r.pick(randomValues))
		}
	}
	fmt.Fprintf(&b, "[all:vars]\n%s=%s\n[ungrouped]\nh7 v1=1\n", r.name(), r.pick(randomValues))
	return b.String()
}

// onLine returns variables behind a host. Values with quotes of their own stand in quotes.
func (r *randomInventory) onLine() string {
	var b strings.Builder
	for range r.IntN(3) {
		v := r.pick(randomValues)
		switch {
		case strings.ContainsAny(v, " \"'`"): // in double quotes, in which these are escaped
			v = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
		}
		fmt.Fprintf(&b, " %s=%s", r.name(), v)
	}
	return b.String()
}

func (r *randomInventory) yaml() string {
	var b strings.Builder
	b.WriteString("all:\n  vars: {" + r.flow() + "}\n  hosts: {h7: {" + r.flow() + "}}\n  children:\n")
	for i, g := range r.groups {
		fmt.Fprintf(&b, "    %s:\n      hosts:\n        h%d:\n", g, r.IntN(6))
		fmt.Fprintf(&b, "        h%d: {%s}\n", 6+r.IntN(2), r.flow())
		if i+1 < len(r.groups) && r.IntN(2) == 0 {
			fmt.Fprintf(&b, "      children: {%s: }\n", r.pick(r.groups[i+1:]))
		}
		fmt.Fprintf(&b, "      vars: {%s}\n", r.flow())
	}
	return b.String()
}

func (r *randomInventory) flow() string {
	var out []string
	for _, n := range r.Perm(6)[:r.IntN(4)] {
		out = append(out, fmt.Sprintf("v%d: %s", n+1, r.pick(randomYAML)))
	}
	if r.IntN(4) == 0 {
		out = append(out, fmt.Sprintf("ansible_group_priority: %d", r.IntN(4)))
	}
	return strings.Join(out, ", ")
}

// varsFiles writes files of variables for some groups and hosts.
func (r *randomInventory) varsFiles() error {
	for _, kind := range []string{"group_vars", "host_vars"} {
		names := []string{"h1", "h2", "h7"}
		if kind == "group_vars" {
			names = append([]string{"all"}, r.groups...)
		}
		for _, name := range names {
			for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
				if r.IntN(5) > 0 {
					continue
				}
				if ext == "" {
					ext = "/part" + r.pick([]string{".yml", "", ".json"})
				}
				path := filepath.Join(r.dir, kind, name+ext)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
				text := fmt.Sprintf("%s: %s\n", r.name(), r.pick(randomYAML))
				if filepath.Ext(path) == ".json" {
					text = fmt.Sprintf(`{"%s": %s}`, r.name(), r.pick([]string{"1", "1.0", "1e3", `"yes"`, "true", "null", `[1, "a"]`, `{"k": 2.5}`}))
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
