package roles_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/roles"
)

// roleShell returns the lines of the shell task of a role's file, whose variables come from
// the environment.
func roleShell(t *testing.T, file, task string) string {
	t.Helper()
	text, err := roles.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Name  string
		Shell struct{ Cmd string }
		Block []entry
	}
	var tasks []entry
	if err := yaml.Unmarshal(text, &tasks); err != nil {
		t.Fatal(err)
	}
	for len(tasks) > 0 {
		if tasks[0].Name == task {
			if strings.Contains(tasks[0].Shell.Cmd, "{{") {
				t.Fatalf("%s: task %q has templates in its lines", file, task)
			}
			return tasks[0].Shell.Cmd
		}
		tasks = append(tasks[1:], tasks[0].Block...)
	}
	t.Fatalf("%s has no task %q", file, task)
	return ""
}

// swapHost is a host on which the data of a member is replaced.
type swapHost struct {
	t         *testing.T
	dir       string
	data, log string // log is empty for a log within the data
	script    string
}

func newSwapHost(t *testing.T, ownLog bool) *swapHost {
	t.Helper()
	h := &swapHost{t: t, dir: t.TempDir()}
	h.data = filepath.Join(h.dir, "data")
	old, fresh := filepath.Join(h.data, "member/wal"), filepath.Join(h.data, "restored-1/member/wal")
	if ownLog {
		h.log = filepath.Join(h.dir, "log")
		old, fresh = filepath.Join(h.log, "wal"), filepath.Join(h.log, "restored-1/wal")
	}
	for file, content := range map[string]string{
		filepath.Join(h.data, "member/snap/db"): "old", filepath.Join(old, "7.wal"): "old", filepath.Join(old, "8.wal"): "old",
		filepath.Join(h.data, "restored-1/member/snap/db"): "new", filepath.Join(fresh, "0.wal"): "new",
		filepath.Join(h.dir, "etcd.service"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"mv", "mkdir", "rmdir", "sync", "systemctl"} {
		real, err := exec.LookPath(program)
		if program == "systemctl" || program == "sync" {
			real, err = "/bin/true", nil
		}
		if err != nil {
			t.Fatal(err)
		}
		// The shell is killed before the program numbered KILL begins.
		text := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >> %s/calls\n[ \"$(wc -l < %s/calls)\" -ne \"$KILL\" ] || { kill -9 $PPID; exit 1; }\nexec %s \"$@\"\n", program, h.dir, h.dir, real)
		if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.script = strings.NewReplacer("/etc/systemd/system/$NAME.service", filepath.Join(h.dir, "etcd.service"), "/etc/deployer/$NAME-member", filepath.Join(h.dir, "etcd-member")).
		Replace(roleShell(t, "etcd-data-swap/tasks/main.yaml", "replace the data of this member by the restored data"))
	return h
}

// run runs the script, and kills it before the program with a number; 0 kills nothing. It
// returns the number of programs that the script has called, and whether it succeeded.
func (h *swapHost) run(kill int) (calls int, ok bool) {
	h.t.Helper()
	if err := os.RemoveAll(filepath.Join(h.dir, "calls")); err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", h.script)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(h.dir, "bin")+":"+os.Getenv("PATH"), "ID=1", "NAME=etcd", "DATA="+h.data, "LOG="+h.log, fmt.Sprintf("KILL=%d", kill))
	out, err := cmd.CombinedOutput()
	if err != nil && kill == 0 {
		h.t.Errorf("the script ended with %v\n%s", err, out)
	}
	text, _ := os.ReadFile(filepath.Join(h.dir, "calls"))
	return strings.Count(string(text), "\n"), err == nil
}

// content returns the data and the log that a boot would find; empty for what is missing.
func (h *swapHost) content() (db, log string) {
	wal := filepath.Join(h.data, "member/wal")
	if h.log != "" {
		wal = filepath.Join(h.log, "wal")
	}
	text, _ := os.ReadFile(filepath.Join(h.data, "member/snap/db"))
	files, _ := filepath.Glob(filepath.Join(wal, "*.wal"))
	for _, file := range files {
		first, _ := os.ReadFile(file)
		log = string(first)
	}
	return string(text), log
}

// unfinished reports whether the host is in the state that the playbooks test for:
// restored-ID in the last directory.
func (h *swapHost) unfinished() bool {
	last := h.data
	if h.log != "" {
		last = h.log
	}
	_, err := os.Stat(filepath.Join(last, "restored-1"))
	return err == nil
}

// TestEtcdDataSwap kills the replacement of a member's data before each of its steps, once and
// twice. A boot in between finds the former data and log, the restored ones, or no log, with
// which the unit does not start etcd; the next run completes the replacement.
func TestEtcdDataSwap(t *testing.T) {
	t.Parallel()
	for _, ownLog := range []bool{false, true} {
		steps, _ := newSwapHost(t, ownLog).run(0)
		if steps < 6 {
			t.Fatalf("the script has %d steps", steps)
		}
		for first := 0; first <= steps; first++ {
			for _, second := range []int{0, first, steps / 2} {
				h := newSwapHost(t, ownLog)
				name := fmt.Sprintf("log of its own: %t, killed before the steps %d and %d", ownLog, first, second)
				for _, kill := range []int{first, second, 0} {
					if !h.unfinished() {
						continue // the playbook runs the script only while a directory is left
					}
					_, ok := h.run(kill)
					db, log := h.content()
					if log != "" && db != log {
						t.Errorf("%s: a boot finds the data %q with the log %q", name, db, log)
					}
					if !ok && !h.unfinished() {
						t.Errorf("%s: the next run finds nothing to do", name)
					}
				}
				if db, log := h.content(); db != "new" || log != "new" || h.unfinished() {
					t.Errorf("%s: in the end the data is %q with the log %q, unfinished: %t", name, db, log, h.unfinished())
				}
				kept := []string{filepath.Join(h.data, "before-1/member/snap/db"), filepath.Join(h.data, "before-1/member/wal/7.wal")}
				if ownLog {
					kept[1] = filepath.Join(h.log, "before-1/wal/7.wal")
				}
				for _, file := range append(kept, strings.Replace(kept[1], "7.wal", "8.wal", 1)) {
					if text, err := os.ReadFile(file); err != nil || string(text) != "old" {
						t.Errorf("%s: the former data: %v", name, err)
					}
				}
				if _, err := os.Stat(filepath.Join(h.dir, "etcd-member")); err != nil {
					t.Errorf("%s: the unit would start without a log: %v", name, err)
				}
			}
		}
	}
}

// TestEtcdDataSwapStopsEtcd: a host that has booted in the middle runs its former data, which
// must not be renamed below it.
func TestEtcdDataSwapStopsEtcd(t *testing.T) {
	t.Parallel()
	h := newSwapHost(t, false)
	if err := os.Mkdir(filepath.Join(h.data, "before-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.run(0)
	calls, err := os.ReadFile(filepath.Join(h.dir, "calls"))
	if err != nil || !strings.HasPrefix(string(calls), "systemctl stop etcd.service\n") {
		t.Errorf("%v, the first step is not the end of etcd:\n%s", err, calls)
	}
}
