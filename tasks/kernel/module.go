package kernel

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"deployer/argrule"
	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Modules loads kernel modules, now and at each boot.
type Modules struct {
	Names    []string `yaml:"names" rule:"module" required:"true" doc:"names of kernel modules, such as br_netfilter"`
	Name     string   `yaml:"name" rule:"filename" doc:"part of the file's name, /etc/modules-load.d/deployer-NAME.conf; default modules"`
	Optional bool     `yaml:"optional" doc:"ignore modules that are neither built in nor loadable; the output lists them as missing. Default false"`
}

// signs are files, or lines in files, that exist when a feature is available without a
// module in /lib/modules: in containers, and in kernels without modules.
var signs = map[string]struct{ path, line string }{
	"overlay":      {path: "/proc/filesystems", line: "overlay"},
	"br_netfilter": {path: "/proc/sys/net/bridge/bridge-nf-call-iptables"},
	"nf_conntrack": {path: "/proc/sys/net/netfilter/nf_conntrack_max"},
	"ip_tables":    {path: "/proc/net/ip_tables_names"},
	"ip_vs":        {path: "/proc/net/ip_vs"},
}

// Active reports whether the running kernel has a module, loaded or built in.
func Active(sys engine.System, name string) bool {
	name = underscored(name)
	if _, err := os.Stat(sys.Path("/sys/module/" + name)); err == nil {
		return true
	}
	if slices.Contains(listed(sys, "/proc/modules"), name) || slices.Contains(listed(sys, libDir(sys)+"/modules.builtin"), name) {
		return true
	}
	sign, ok := signs[name]
	if !ok {
		return false
	}
	data, err := os.ReadFile(sys.Path(sign.path))
	if sign.line == "" {
		_, err = os.Stat(sys.Path(sign.path))
		return err == nil
	}
	return err == nil && slices.Contains(strings.Fields(string(data)), sign.line)
}

// Loadable reports whether modprobe finds the module.
func Loadable(sys engine.System, name string) bool {
	return slices.Contains(listed(sys, libDir(sys)+"/modules.dep"), underscored(name))
}

// underscored returns the kernel's spelling of a module name: file names may have
// dashes.
func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

func libDir(sys engine.System) string {
	release, err := os.ReadFile(sys.Path("/proc/sys/kernel/osrelease"))
	if err != nil {
		return "/lib/modules/unknown"
	}
	return "/lib/modules/" + strings.TrimSpace(string(release))
}

// listed parses module names from the first word of each line: a name, or the path of a
// .ko file with any compression suffix.
func listed(sys engine.System, list string) []string {
	f, err := os.Open(sys.Path(list))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20) // lines of modules.dep are long
	for lines.Scan() {
		word, _, _ := strings.Cut(lines.Text(), " ")
		name, _, _ := strings.Cut(path.Base(strings.TrimSuffix(word, ":")), ".ko")
		out = append(out, underscored(name))
	}
	return out
}

// look sorts the wanted modules by state.
func (m *Modules) look(sys engine.System) (load, persist, missing []string) {
	missing = []string{}
	for _, name := range m.Names {
		loadable := Loadable(sys, name)
		switch {
		case Active(sys, name):
		case loadable:
			load = append(load, name)
		default:
			missing = append(missing, name)
		}
		if loadable { // systemd-modules-load fails on unknown names
			persist = append(persist, name)
		}
	}
	return load, persist, missing
}

func (m *Modules) file(persist []string) *file.File {
	return &file.File{
		Path:    "/etc/modules-load.d/deployer-" + cmp.Or(m.Name, "modules") + ".conf",
		Content: new("# Written by deployer.\n" + strings.Join(append(persist, ""), "\n")), Mode: "0644",
	}
}

// Valid implements engine.Validator.
func (m *Modules) Valid() error {
	if len(m.Names) == 0 {
		return errors.New("names is empty")
	}
	if err := argrule.Check("filename", m.Name); err != nil {
		return fmt.Errorf("name %q: %w", m.Name, err)
	}
	return nil
}

// Check reads the running kernel and the list for the next boot.
func (m *Modules) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := m.Valid(); err != nil {
		return engine.Change{}, err
	}
	load, persist, missing := m.look(sys)
	if len(missing) > 0 && !m.Optional {
		return engine.Change{}, fmt.Errorf("the kernel has no module %s and cannot load it: install the package with the modules, or set optional: true",
			strings.Join(missing, ", "))
	}
	var change engine.Change
	if len(persist) > 0 {
		var err error
		if change, err = m.file(persist).Check(ctx, sys); err != nil {
			return engine.Change{}, err
		}
	}
	for _, name := range load {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectKernel, Target: name, Action: "load module"})
	}
	change.Output = engine.Output{"missing": missing}
	return change, nil
}

// Apply loads the modules and writes the list for the next boot.
func (m *Modules) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	load, persist, _ := m.look(sys)
	for _, name := range load {
		if err := sys.BackupState("kernel_module", name, present(Active(sys, name))); err != nil {
			return nil, err
		}
		_, err := hostcmd.Run(ctx, sys, "modprobe", "--", name)
		if err == nil && !Active(sys, name) {
			err = fmt.Errorf("modprobe %s succeeded, but the kernel does not list the module", name)
		}
		if err != nil && !m.Optional {
			return nil, err
		}
	}
	if len(persist) == 0 {
		return nil, nil
	}
	f := m.file(persist)
	change, err := f.Check(ctx, sys)
	if err != nil || !change.Needed {
		return nil, err
	}
	return f.Apply(ctx, sys, change)
}
