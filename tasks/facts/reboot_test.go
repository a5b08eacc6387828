package facts

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

func TestReboot(t *testing.T) {
	t.Parallel()
	const list = "Core libraries or services have been updated since boot-up:\n  * kernel\n  * glibc\n\nReboot is required.\n"
	for name, c := range map[string]struct {
		files map[string]string
		exit  int
		says  string
		err   error
		want  Reboot
		fails string
	}{
		"debian without a mark": {files: map[string]string{"/usr/bin/apt-get": ""}, want: Reboot{Why: []string{}}},
		"debian": {files: map[string]string{"/usr/bin/apt-get": "", "/run/reboot-required": "", "/run/reboot-required.pkgs": "linux\nlibc6\nlinux\n"},
			want: Reboot{true, []string{"libc6", "linux"}}},
		"a mark without a list": {files: map[string]string{"/usr/bin/apt-get": "", "/run/reboot-required": ""}, want: Reboot{true, []string{}}},
		"rocky":                 {files: map[string]string{"/usr/bin/dnf": ""}, exit: 1, says: list, want: Reboot{true, []string{"kernel", "glibc"}}},
		"rocky, up to date":     {files: map[string]string{"/usr/bin/dnf": ""}, want: Reboot{Why: []string{}}},
		"rocky, in trouble":     {files: map[string]string{"/usr/bin/dnf": ""}, exit: 1, says: "database is locked", fails: "needs-restarting -r ended with exit code 1: database is locked"},
		"rocky without it":      {files: map[string]string{"/usr/bin/dnf": ""}, err: &exec.Error{Name: "x", Err: exec.ErrNotFound}, fails: "it is in the package yum-utils"},
		"suse":                  {files: map[string]string{"/usr/bin/zypper": ""}, exit: 102, want: Reboot{true, []string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			sys := tasktest.New(t)
			for path, text := range c.files {
				sys.Write(t, path, text, 0o755)
			}
			sys.Exec = func(context.Context, engine.Command) (engine.CommandResult, error) {
				return engine.CommandResult{Exit: c.exit, Stdout: c.says}, c.err
			}
			if c.fails != "" {
				_, _, err := tasktest.Run(t, sys, &Facts{Gather: strictyaml.Texts{"reboot"}})
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q", err, c.fails)
				}
				return
			}
			if diff := cmp.Diff(c.want, gathered[Reboot](t, sys, "reboot")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
