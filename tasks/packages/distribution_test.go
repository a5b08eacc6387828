package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// distribution is a fake of the package programs of a host.
type distribution struct {
	installed map[string]string // name -> version
	offered   map[string]string // by the package source, once the lists are fresh
	provides  map[string]string // virtual name -> name
	files     map[string]string // path -> "name version"
	fresh     bool
	strict    bool // the source has no version but the one that it offers
	refreshed int
	fail      []string // outputs of the next managing commands, which exit with 100
}

func host(t *testing.T, program string, d *distribution) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	if d.installed == nil {
		d.installed = map[string]string{}
	}
	sys.Exec = d.exec
	sys.Write(t, program, "", 0o755)
	return sys
}

// words returns the arguments that are not options.
func words(argv []string) []string {
	var out []string
	for i, a := range argv {
		if !strings.HasPrefix(a, "-") && (i == 0 || argv[i-1] != "-o" && argv[i-1] != "--queryformat") {
			out = append(out, a)
		}
	}
	return out
}

func (d *distribution) exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	args := words(cmd.Argv)
	switch line := strings.Join(cmd.Argv, " "); {
	case args[0] == "dpkg":
		return engine.CommandResult{}, nil
	case args[0] == "dpkg-query" || args[0] == "rpm" && !strings.Contains(line, "--package"):
		return d.query(args[0], args[1:], strings.Contains(line, "--whatprovides")), nil
	case args[0] == "dpkg-deb" || args[0] == "rpm":
		return engine.CommandResult{Stdout: d.files[args[len(args)-1]]}, nil
	case strings.Contains(line, "madison") || strings.Contains(line, "repoquery") || strings.Contains(line, "--details"):
		name := args[len(args)-1]
		release := "-1.el9"
		if strings.Contains(line, "madison") {
			release = ""
		}
		return engine.CommandResult{Stdout: name + " | " + d.offered[name] + release + " | http://172.31.0.1:8000 ./ Packages\n"}, nil
	case args[0] == "apt-cache" || args[1] == "check-update" || args[1] == "list-updates" || strings.Contains(line, "--simulate"):
		return d.newer(args), nil
	case slices.Contains([]string{"apt-get", "dnf", "zypper"}, args[0]):
		return d.manage(args[1], args[2:]), nil
	}
	return engine.CommandResult{}, errors.New("no such program " + args[0])
}

func (d *distribution) query(program string, names []string, virtual bool) (res engine.CommandResult) {
	if program == "dpkg-query" && len(names) == 0 {
		for name, by := range d.provides {
			if d.installed[by] != "" {
				res.Stdout += fmt.Sprintf("installed %s other, %s (= 1)\n", d.installed[by], name)
			}
		}
		return res
	}
	for _, name := range names {
		if virtual {
			name = d.provides[name]
		}
		version, ok := d.installed[name]
		switch {
		case !ok:
			res.Exit, res.Stdout = 1, res.Stdout+"package "+name+" is not installed\n"
		case program == "rpm":
			res.Stdout += fmt.Sprintf("%s x86_64 0 %s 1.el9\n", name, version)
		default:
			res.Stdout += fmt.Sprintf("%s amd64 installed %s\n", name, version)
		}
	}
	return res
}

func (d *distribution) newer(args []string) (res engine.CommandResult) {
	for name, version := range d.offered {
		have, ok := d.installed[name]
		switch {
		case args[0] == "apt-cache" && !ok:
			res.Stdout += name + ":\n  Installed: (none)\n  Candidate: " + version + "\n  Version table:\n"
		case args[0] == "apt-cache":
			res.Stdout += name + ":\n  Installed: " + have + "\n  Candidate: " + version + "\n  Version table:\n *** " + have + " 500\n"
		case !ok || have == version:
		case args[0] == "apt-get":
			res.Stdout += fmt.Sprintf("Inst %s [%s] (%s Debian:12 [amd64])\nConf %s (%s)\nInst new (1 Debian)\n", name, have, version, name, version)
		case args[0] == "dnf":
			res.Exit = 100
			res.Stdout += name + ".x86_64   " + version + "   baseos\n"
		case args[0] == "zypper":
			res.Stdout += "v | main | " + name + " | " + have + " | " + version + " | x86_64\n"
		}
	}
	return res
}

func (d *distribution) manage(verb string, names []string) engine.CommandResult {
	if len(d.fail) > 0 {
		said := d.fail[0]
		d.fail = d.fail[1:]
		return engine.CommandResult{Exit: 100, Stderr: said}
	}
	switch {
	case verb == "update" && len(names) == 0, verb == "makecache", verb == "refresh":
		d.fresh = true
		d.refreshed++
		return engine.CommandResult{}
	case verb == "remove":
		for _, n := range names {
			delete(d.installed, n)
		}
		return engine.CommandResult{}
	}
	return d.install(names)
}

func (d *distribution) install(names []string) engine.CommandResult {
	for _, n := range names {
		if file, ok := d.files[n]; ok {
			name, version, _ := strings.Cut(file, " ")
			d.installed[name] = version
			continue
		}
		name, version := n, ""
		if i := strings.IndexAny(n, "=-"); i >= 0 {
			name, version = n[:i], n[i+1:]
		}
		offered, ok := d.offered[name]
		version = strings.TrimSuffix(version, "-1.el9")
		if !ok || !d.fresh || version != "" && d.strict && version != offered {
			return engine.CommandResult{Exit: 100, Stderr: "E: Unable to locate package " + n + "\n"}
		}
		if version == "" {
			version = offered
		}
		d.installed[name] = version
	}
	return engine.CommandResult{}
}
