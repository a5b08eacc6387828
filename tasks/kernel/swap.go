package kernel

import (
	"context"
	"fmt"
	"os"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Swap turns swap off, now and after a reboot.
type Swap struct {
	State string `yaml:"state" rule:"in:off" required:"true" doc:"off is the only state; lines of /etc/fstab are commented out, not removed"`
}

const fstab = "/etc/fstab"

// Swaps lists the active swap areas by name.
func Swaps(sys engine.System) []string {
	data, err := os.ReadFile(sys.Path("/proc/swaps"))
	if err != nil {
		return nil // a kernel without swap has no such file
	}
	var out []string
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 0 {
			out = append(out, fields[0])
		}
	}
	return out
}

// withoutSwap comments out the swap lines of an fstab.
func withoutSwap(content string) string {
	var b strings.Builder
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) >= 3 && !strings.HasPrefix(fields[0], "#") && fields[2] == "swap" {
			b.WriteString("# turned off by deployer: ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func (s *Swap) file(sys engine.System) (*file.File, bool) {
	data, err := os.ReadFile(sys.Path(fstab))
	if err != nil {
		return nil, false
	}
	want := withoutSwap(string(data))
	return &file.File{Path: fstab, Content: new(want), Follow: true}, want != string(data)
}

// Valid implements engine.Validator.
func (s *Swap) Valid() error {
	if s.State != "off" {
		return fmt.Errorf("state is %q, want \"off\" (in quotes: YAML takes a bare off for false)", s.State)
	}
	return nil
}

// Check reads /proc/swaps and /etc/fstab.
func (s *Swap) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := s.Valid(); err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	if f, differs := s.file(sys); differs {
		var err error
		if change, err = f.Check(ctx, sys); err != nil {
			return engine.Change{}, err
		}
	}
	for _, area := range Swaps(sys) {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectKernel, Target: area, Action: "stop swapping to it"})
	}
	return change, nil
}

// Apply turns the areas off, then edits /etc/fstab.
func (s *Swap) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if areas := Swaps(sys); len(areas) > 0 {
		for _, area := range areas {
			if err := sys.BackupState("swap", area, present(true)); err != nil {
				return nil, err
			}
		}
		sys.Progress("moving swapped pages back to memory")
		if _, err := hostcmd.Run(ctx, sys, "swapoff", "--all"); err != nil {
			return nil, fmt.Errorf("turning swap off: %w; inside a container, swap belongs to the machine that runs it", err)
		}
		if left := Swaps(sys); len(left) > 0 {
			return nil, fmt.Errorf("swapoff --all succeeded, but %s is still in use; a unit may have activated it again; see systemctl list-units --type=swap",
				strings.Join(left, ", "))
		}
	}
	f, differs := s.file(sys)
	if !differs {
		return nil, nil
	}
	change, err := f.Check(ctx, sys)
	if err != nil || !change.Needed {
		return nil, err
	}
	return f.Apply(ctx, sys, change)
}
