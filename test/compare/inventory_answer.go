package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// askInventory returns the answer of `ansible-inventory --list`. An inventory that
// Ansible refuses has the answer "refused".
func askInventory(ctx context.Context, dir, work string) (Answer, error) {
	path, err := inventoryPath(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "ansible-inventory", "-i", path, "--list")
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "LC_ALL=C.UTF-8",
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCAL_TEMP=" + filepath.Join(work, "tmp")}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ansible-inventory: %w: %s", err, errs.String())
	}
	return listed(out)
}

// listed flattens the output of `ansible-inventory --list`.
func listed(out []byte) (Answer, error) {
	groups := map[string]struct {
		Hosts, Children []string
	}{}
	var meta struct {
		Meta struct {
			HostVars map[string]map[string]any `json:"hostvars"`
		} `json:"_meta"`
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if err := d.Decode(&meta); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &groups); err != nil {
		return nil, err
	}
	var members func(group string) []string
	members = func(group string) []string {
		hosts := slices.Clone(groups[group].Hosts)
		for _, c := range groups[group].Children {
			hosts = append(hosts, members(c)...)
		}
		return sorted(hosts)
	}
	a := Answer{}
	for group := range groups {
		if group == "_meta" || group == "all" {
			continue
		}
		hosts := members(group)
		if len(hosts) == 0 {
			continue
		}
		a["group "+group] = hosts
		if group != "ungrouped" {
			a["groupname "+group] = group
		}
	}
	for _, host := range members("all") {
		a["host "+host] = host
		vars := meta.Meta.HostVars[host]
		loginOf(host, vars, a)
		for name, v := range vars {
			if !strings.HasPrefix(name, "ansible_") {
				a["var "+host+" "+name] = plain(v)
			}
		}
	}
	return a, nil
}

// plain removes the marks of texts that Ansible never takes for templates.
func plain(v any) any {
	switch t := v.(type) {
	case map[string]any:
		if text, ok := t["__ansible_unsafe"]; ok {
			return text
		}
		for k, e := range t {
			t[k] = plain(e)
		}
	case []any:
		for i, e := range t {
			t[i] = plain(e)
		}
	}
	return v
}

// sorted returns the names sorted, each once.
func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

// loginOf adds the login that Ansible's variables make.
func loginOf(host string, vars map[string]any, a Answer) {
	first := func(names ...string) any {
		for _, n := range names {
			if v, ok := vars[n]; ok {
				return v
			}
		}
		return nil
	}
	text := func(v any, otherwise string) string {
		if v == nil {
			return otherwise
		}
		return fmt.Sprint(v)
	}
	a["login "+host+" ansible_host"] = text(first("ansible_ssh_host", "ansible_host"), host)
	a["login "+host+" ansible_port"] = text(first("ansible_ssh_port", "ansible_port"), "22")
	a["login "+host+" ansible_user"] = text(first("ansible_ssh_user", "ansible_user"), "")
	a["login "+host+" ansible_ssh_private_key_file"] = text(first("ansible_ssh_private_key_file", "ansible_private_key_file"), "")
	become := "none"
	if isTrue(first("ansible_become")) {
		become = text(first("ansible_become_method"), "sudo")
	}
	a["login "+host+" ansible_become"] = become
}

// isTrue reports whether Ansible takes a value for true.
func isTrue(v any) bool {
	switch strings.ToLower(fmt.Sprint(v)) {
	case "true", "yes", "on", "1", "t", "y":
		return true
	}
	return false
}
