// Package kernel has the modules for kernel settings, kernel modules and swap.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"deployer/argrule"
	"deployer/engine"
	"deployer/tasks/file"
)

// Sysctl sets kernel settings now and for each boot.
type Sysctl struct {
	Name     string            `yaml:"name" rule:"filename" doc:"part of the file's name, /etc/sysctl.d/90-deployer-NAME.conf; default settings"`
	Settings map[string]string `yaml:"settings" rule:"line" keys:"sysctl" required:"true" doc:"setting -> value, as in net.ipv4.ip_forward: \"1\""`
	Optional bool              `yaml:"optional" doc:"leave out settings that this kernel does not have; default false"`
}

var (
	_ engine.Module = (*Sysctl)(nil)
	_ engine.Module = (*Modules)(nil)
	_ engine.Module = (*Swap)(nil)
)

// ProcPath returns the file of a setting. As in sysctl(8), dots separate unless a slash
// comes first; then dots are part of names, as in net/ipv4/conf/eth0.100/forwarding.
func ProcPath(key string) string {
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		key = strings.NewReplacer(".", "/", "/", ".").Replace(key)
	}
	return filepath.Join("/proc/sys", key)
}

func (s *Sysctl) path() string {
	name := s.Name
	if name == "" {
		name = "settings"
	}
	return "/etc/sysctl.d/90-deployer-" + name + ".conf"
}

// Valid implements engine.Validator.
func (s *Sysctl) Valid() error {
	if err := argrule.Check("filename", s.Name); err != nil {
		return fmt.Errorf("name %q: %w", s.Name, err)
	}
	if len(s.Settings) == 0 {
		return errors.New("settings is empty")
	}
	for key := range s.Settings { // a name that leads upwards is a file outside of /proc/sys
		if err := argrule.Check("sysctl", key); err != nil || key == "" {
			return fmt.Errorf("%q is not the name of a kernel setting such as net.ipv4.ip_forward", key)
		}
	}
	return nil
}

// file returns the drop-in with the settings.
func (s *Sysctl) file(keys []string) *file.File {
	var b strings.Builder
	b.WriteString("# Written by deployer.\n")
	for _, key := range keys {
		fmt.Fprintf(&b, "%s = %s\n", key, s.Settings[key])
	}
	return &file.File{Path: s.path(), Content: new(b.String()), Mode: "0644"}
}

// look returns the settings for the drop-in and the subset whose current value differs.
func (s *Sysctl) look(sys engine.System) (keys, differ []string, have map[string]string, err error) {
	have = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s.Settings)) {
		raw, err := os.ReadFile(sys.Path(ProcPath(key)))
		switch {
		case errors.Is(err, fs.ErrNotExist) && s.Optional:
			continue
		case errors.Is(err, fs.ErrNotExist):
			// an earlier step may load the kernel module that provides it
		case err != nil:
			return nil, nil, nil, err
		}
		have[key] = Normal(string(raw))
		keys = append(keys, key)
		if err != nil || have[key] != Normal(s.Settings[key]) {
			differ = append(differ, key)
		}
	}
	return keys, differ, have, nil
}

// Normal replaces runs of white space by one space; the kernel separates by tabs.
func Normal(value string) string { return strings.Join(strings.Fields(value), " ") }

// Check compares the running kernel and the drop-in.
func (s *Sysctl) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := s.Valid(); err != nil {
		return engine.Change{}, err
	}
	keys, differ, have, err := s.look(sys)
	if err != nil {
		return engine.Change{}, err
	}
	change, err := s.file(keys).Check(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	for _, key := range differ {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{
			Kind: engine.EffectKernel, Target: key, Action: fmt.Sprintf("set %q -> %q", have[key], s.Settings[key]),
		})
	}
	return change, nil
}

// Apply sets the live values first: a value that the kernel refuses must not be stored
// for the next boot.
func (s *Sysctl) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	keys, differ, _, err := s.look(sys)
	if err != nil {
		return nil, err
	}
	for _, key := range differ {
		now, err := lookSetting(sys, key)
		if err == nil {
			err = sys.BackupState("sysctl", key, now)
		}
		if err != nil {
			return nil, err
		}
		if err := setLive(sys, key, s.Settings[key]); err != nil {
			return nil, err
		}
	}
	f := s.file(keys)
	change, err := f.Check(ctx, sys)
	if err != nil || !change.Needed {
		return nil, err
	}
	return f.Apply(ctx, sys, change)
}

func setLive(sys engine.System, key, value string) error {
	f, err := os.OpenFile(sys.Path(ProcPath(key)), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(value + "\n")
		err = errors.Join(err, f.Close())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kernel has no setting %s: load the kernel module that provides it, or set optional: true", key)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be set to %q here: %w; inside a container it must be set on the machine that runs it", key, value, err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("the kernel refuses the value %q for %s", value, key)
	}
	return fmt.Errorf("setting %s: %w", key, err)
}
