package cis

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Host has the files, processes and refusals of a host that checks read.
type Host struct {
	Files    map[string]Access   // by path
	Contents map[string]string   // of files, by path
	Args     map[string][]string // flags of processes, by the name of the program
	Refusals map[string]string   // answers of the API to pods, by their specs; empty: admitted
}

// Access is the mode and the owner of a file.
type Access struct {
	Mode  int64
	Owner string // user:group
}

// Script returns a shell script that prints the state of a host that the tests of
// these checks compare. Contents and flags are printed in base64, so that they cannot
// be taken for lines of the script.
func Script(checks []Check) string {
	var b strings.Builder
	b.WriteString("set -u\n")
	access, contents := paths(checks)
	for _, file := range slices.Sorted(maps.Keys(access)) {
		depth := "-maxdepth 0"
		if slices.ContainsFunc(access[file], func(below string) bool { return below != "" }) {
			depth = ""
		}
		fmt.Fprintf(&b, "find %s %s -printf 'file %%m %%u:%%g %%p\\n'\n", file, depth)
	}
	for _, file := range contents {
		fmt.Fprintf(&b, "echo \"content %[1]s $(base64 -w0 %[1]s)\"\n", file)
	}
	b.WriteString("for p in $(grep -lE 'kube|etcd' /proc/[0-9]*/cmdline); do echo \"args - $(base64 -w0 $p)\"; done 2>/dev/null\n")
	return b.String()
}

// RefusalScript returns a shell script that asks the API to admit the pods of these
// checks, without creating them.
func RefusalScript(checks []Check) string {
	var b strings.Builder
	for _, c := range checks {
		spec := base64.StdEncoding.EncodeToString([]byte(c.Test.Refused))
		overrides := `{"spec":` + c.Test.Refused + `}`
		fmt.Fprintf(&b, "out=$(kubectl --kubeconfig /etc/kubernetes/admin.conf -n default run c --image=i --restart=Never --dry-run=server --overrides='%s' 2>&1) && out=\n", overrides)
		fmt.Fprintf(&b, "echo \"refusal %s $(printf %%s \"$out\" | base64 -w0)\"\n", spec)
	}
	return b.String()
}

// Parse reads the output of scripts.
func Parse(out string) (Host, error) {
	h := Host{Files: map[string]Access{}, Contents: map[string]string{}, Args: map[string][]string{}, Refusals: map[string]string{}}
	for line := range strings.Lines(out) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, value, _ := strings.Cut(rest, " ")
		if kind == "file" {
			mode, err := strconv.ParseInt(name, 8, 32)
			if err != nil {
				return h, fmt.Errorf("mode in line %q: %w", line, err)
			}
			owner, file, _ := strings.Cut(value, " ")
			h.Files[file] = Access{Mode: mode, Owner: owner}
			continue
		}
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return h, fmt.Errorf("line %q: %w", line, err)
		}
		switch kind {
		case "content":
			h.Contents[name] = string(text)
		case "args":
			argv := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
			if program := path.Base(argv[0]); len(argv) > 1 {
				h.Args[program] = argv[1:]
			}
		case "refusal":
			spec, err := base64.StdEncoding.DecodeString(name)
			if err != nil {
				return h, fmt.Errorf("line %q: %w", line, err)
			}
			h.Refusals[string(spec)] = string(text)
		}
	}
	return h, nil
}
