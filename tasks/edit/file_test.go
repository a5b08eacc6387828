package edit

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestEditIsIdempotent(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]engine.Module{
		"line":    &Line{Path: "/etc/x", Line: "b=2", Regexp: "^b="},
		"block":   &TextBlock{Path: "/etc/x", Block: "b=2"},
		"replace": &Replace{Path: "/etc/x", Regexp: "b=1", Replacement: "b=2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/etc/x", "a=1\nb=1\n", 0o640)
			change := tasktest.Converge(t, sys, m)
			if diff := cmp.Diff([]string{"/etc/x: replace"}, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(change.Effects[0].Diff, "+b=2\n") {
				t.Errorf("diff %q", change.Effects[0].Diff)
			}
			if diff := cmp.Diff([]string{"/etc/x"}, sys.Kept()); diff != "" {
				t.Error("kept:", diff)
			}
			if info, err := os.Stat(sys.Path("/etc/x")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v; want mode 0640", info, err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	sys.Write(t, "/etc/x", "good\n", 0o644)
	sys.Write(t, "/etc/empty-soon", "x\n", 0o644)
	tasktest.Converge(t, sys, &Line{Path: "/etc/new", Line: "a", Options: Options{Create: true, Mode: "0600"}})
	tasktest.Converge(t, sys, &Line{Path: "/etc/empty-soon", Line: "x", State: "absent"})
	tasktest.Converge(t, sys, &Line{Path: "/etc/x", Line: "good", Options: Options{Mode: "0600"}})
	if got := sys.Read(t, "/etc/empty-soon"); got != "" {
		t.Errorf("content %q", got)
	}
	_, out, err := tasktest.Run(t, sys, &Line{Path: "/etc/x", Line: "more", Options: Options{Backup: true, Secret: true}})
	if err != nil || out["backup_file"] != "/etc/x.test~" {
		t.Errorf("%v, %v", out, err)
	}
	change := tasktest.Check(t, sys, &Line{Path: "/etc/x", Line: "password", Options: Options{Secret: true}})
	if change.Effects[0].Diff != "" || !change.Effects[0].Secret {
		t.Errorf("effect %+v", change.Effects[0])
	}
	_, _, err = tasktest.Run(t, sys, &Replace{Path: "/etc/x", Regexp: "good", Replacement: "bad", Options: Options{Validate: []string{"grep", "-q", "good", "%s"}}})
	if err == nil || !strings.Contains(err.Error(), "was not put in place") || sys.Read(t, "/etc/x") != "good\nmore\n" {
		t.Errorf("%v, %q", err, sys.Read(t, "/etc/x"))
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc")
	for _, m := range []engine.Module{&Line{Path: "/etc/x", Line: "a"}, &TextBlock{Path: "/etc/x", Block: "a"}, &Replace{Path: "/etc/x", Regexp: "a"}} {
		change, _, err := tasktest.Run(t, sys, m) // a dry run stops at the check: an earlier step may make the file
		if !change.Needed || err == nil || !strings.Contains(err.Error(), "/etc/x does not exist") {
			t.Errorf("%T: needed %t, %v", m, change.Needed, err)
		}
	}
	for _, m := range []engine.Module{&Line{Path: "/etc/x", Line: "a", State: "absent", Options: Options{Create: true}}, &TextBlock{Path: "/etc/x"}} {
		if change := tasktest.Check(t, sys, m); change.Needed {
			t.Errorf("%T: takes something away from a file that is not there", m)
		}
	}
}

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/half", "BEGIN\nx\n", 0o644)
	sys.Write(t, "/etc/twice", "BEGIN\nEND\nBEGIN\nEND\n", 0o644)
	sys.Write(t, "/etc/two", "#b\n#b\n", 0o644)
	sys.Mkdir(t, "/etc/dir")
	if err := os.Symlink("half", sys.Path("/etc/link")); err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]engine.Module{
		"symbolic link to half":         &Line{Path: "/etc/link", Line: "a"},
		"not a regular file":            &Line{Path: "/etc/dir", Line: "a"},
		"repair the file by hand":       &TextBlock{Path: "/etc/half", Block: "a", Marker: "{mark}"},
		"more than one line is":         &TextBlock{Path: "/etc/twice", Block: "a", Marker: "{mark}"},
		"every run would change /etc/h": &Replace{Path: "/etc/half", Regexp: "x", Replacement: "xx"},
		"every run would change /etc/t": &Line{Path: "/etc/two", Line: "b", Regexp: "^#b"},
		"not absolute":                  &Line{Path: "x", Line: "a"},
	} {
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	tasktest.Converge(t, sys, &Line{Path: "/etc/link", Line: "a", Options: Options{Follow: true}})
	if info, err := os.Lstat(sys.Path("/etc/link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}
