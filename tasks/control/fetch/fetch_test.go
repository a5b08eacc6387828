package fetch

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/stat"
	"deployer/tasks/tasktest"
)

// newContext returns the context of a host whose modules run below a directory of the test.
func newContext(t *testing.T) (*actiontest.Context, *tasktest.System) {
	t.Helper()
	sys := tasktest.New(t)
	actx := &actiontest.Context{Name: "web-1"}
	actx.RunFunc = func(ctx context.Context, host, _ string, args engine.Module) (engine.Result, error) {
		if host != "web-1" {
			return engine.Result{}, errors.New("another host was asked")
		}
		change, err := tasktest.Travel(t, args).Check(ctx, sys)
		result := engine.Result{Status: engine.StatusOK, Output: change.Output}
		if err != nil {
			result = engine.Result{Status: engine.StatusFailed, Failure: &engine.Failure{Message: err.Error()}}
		}
		return result, nil
	}
	return actx, sys
}

// run checks and applies; a second check must find nothing to do.
func run(t *testing.T, actx engine.ActionContext, f *Fetch) (engine.Change, engine.Output, error) {
	t.Helper()
	change, err := f.Check(t.Context(), actx)
	if err != nil || !change.Needed {
		return change, change.Output, err
	}
	out, err := f.Apply(t.Context(), actx, change)
	if err != nil {
		return change, out, err
	}
	again, err := f.Check(t.Context(), actx)
	if err != nil || again.Needed {
		t.Errorf("second check: %+v, %v", again, err)
	}
	return change, out, err
}

func TestFetchIsIdempotent(t *testing.T) {
	t.Parallel()
	large := make([]byte, 2*stat.PartSize+17)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	tests := map[string]struct {
		content string
		fetch   Fetch
		place   string // below the directory of the test
	}{
		"by host":             {"text", Fetch{Dest: "got"}, "got/web-1/etc/app.conf"},
		"empty":               {"", Fetch{Dest: "got"}, "got/web-1/etc/app.conf"},
		"in parts":            {string(large), Fetch{Dest: "got/"}, "got/web-1/etc/app.conf"},
		"flat":                {"text", Fetch{Dest: "got/web.conf", Flat: true}, "got/web.conf"},
		"flat in a directory": {"text", Fetch{Dest: "got/", Flat: true}, "got/app.conf"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			actx, sys := newContext(t)
			sys.Write(t, "/etc/app.conf", tt.content, 0o600)
			dir := t.TempDir()
			f := tt.fetch
			f.Src, f.Dest = "/etc/app.conf", dir+"/"+f.Dest
			place := filepath.Join(dir, tt.place)
			change, out, err := run(t, actx, &f)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{place + ": fetch from web-1:/etc/app.conf"}
			if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" || out["dest"] != place {
				t.Error(diff, out["dest"])
			}
			got, err := os.ReadFile(place)
			if err != nil || string(got) != tt.content {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(tt.content))
			}
			if info, err := os.Stat(place); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v; what root could read is for its user alone", info, err)
			}
			if left, err := filepath.Glob(filepath.Dir(place) + "/.*"); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	actx, sys := newContext(t)
	sys.Mkdir(t, "/etc/dir")
	dir := t.TempDir()
	change, out, err := run(t, actx, &Fetch{Src: "/none", Dest: dir, MissingOK: true})
	if err != nil || change.Needed || out["missing"] != true {
		t.Errorf("%+v, %v", change, err)
	}
	for want, f := range map[string]*Fetch{
		"/none does not exist on the host": {Src: "/none", Dest: dir},
		"not a plain file but a direct":    {Src: "/etc/dir", Dest: dir},
		"src \"x\" is not":                 {Src: "x", Dest: dir},
		"src, a file, and dest":            {Src: "/", Dest: dir},
	} {
		if _, _, err := run(t, actx, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestPathsOutsideOfDestAreRejected: neither a file name nor an existing link leads out
// of dest.
func TestPathsOutsideOfDestAreRejected(t *testing.T) {
	t.Parallel()
	actx, sys := newContext(t)
	sys.Write(t, "/etc/x", "evil", 0o644)
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "web-1")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, actx, &Fetch{Src: "/etc/x", Dest: dir}); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"..", "a/b", ".", `..\x`} {
		actx.Name = name
		if _, err := (&Fetch{Src: "/etc/x", Dest: dir}).place(name); err == nil {
			t.Errorf("a host called %q gets a directory", name)
		}
	}
	if to, err := (&Fetch{Src: "/../../etc/x", Dest: dir}).place("h"); err != nil || to.String() != filepath.Join(dir, "h/etc/x") {
		t.Errorf("%s, %v", to, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
}

func TestInconsistentAnswersOfAHostFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		part engine.Output
		want string
	}{
		"more than asked for": {engine.Output{"data": "YWJjZGVm"}, "not the 2 requested bytes"},
		"no base64":           {engine.Output{"data": "!"}, "not the 2 requested bytes"},
		"nothing":             {engine.Output{}, "changes all the time"},
		"other content":       {engine.Output{"data": "eHg="}, "changes all the time"},
	}
	for name, tt := range tests {
		actx := &actiontest.Context{Name: "h"}
		actx.RunFunc = func(_ context.Context, _, module string, _ engine.Module) (engine.Result, error) {
			if module == "stat" {
				return engine.Result{Output: engine.Output{"exists": true, "type": "file", "size": float64(2), "sha256": strings.Repeat("0", 64)}}, nil
			}
			return engine.Result{Output: tt.part}, nil
		}
		dir := t.TempDir()
		if _, _, err := run(t, actx, &Fetch{Src: "/x", Dest: dir}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		if files, err := filepath.Glob(dir + "/h/*"); err != nil || len(files) != 0 {
			t.Errorf("%s: left behind %v, %v", name, files, err)
		}
	}
}

// TestFilesAboveTheLimitAreRejected: nothing is written for a host that reports a size
// above the limit or an invalid size, and bytes beyond the reported size are rejected.
func TestFilesAboveTheLimitAreRejected(t *testing.T) {
	t.Parallel()
	for want, size := range map[string]float64{
		"max_mib allows 1024 MiB": 1<<30 + 1,
		"has -1 bytes":            -1,
		"requested bytes":         2,
	} {
		actx, sys := newContext(t)
		sys.Write(t, "/etc/x", "more than two bytes", 0o644)
		inner := actx.RunFunc
		actx.RunFunc = func(ctx context.Context, host, module string, args engine.Module) (engine.Result, error) {
			if part, ok := args.(*stat.Part); ok {
				part.Bytes = 19 // the host sends the whole file for each part
			}
			res, err := inner(ctx, host, module, args)
			if _, ok := args.(*stat.Stat); ok {
				res.Output["size"] = size
			}
			return res, err
		}
		dir := t.TempDir()
		_, _, err := run(t, actx, &Fetch{Src: "/etc/x", Dest: dir})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		left, err := filepath.Glob(filepath.Join(dir, "web-1/etc/*"))
		if err != nil || len(left) != 0 {
			t.Errorf("written: %v, %v", left, err)
		}
	}
	if err := (&Fetch{Src: "/x", MaxMiB: 1 << 40}).room(target{dir: t.TempDir()}, 1<<58); err == nil || !strings.Contains(err.Error(), "must stay free") {
		t.Errorf("a file that the disk has no room for: %v", err)
	}
}

// TestFilesOfKilledRunsAreRemoved: the next fetch to a directory removes the
// temporary files of killed processes there; a file that is being written, a link,
// and a file of another name stay.
func TestFilesOfKilledRunsAreRemoved(t *testing.T) {
	t.Parallel()
	actx, sys := newContext(t)
	sys.Write(t, "/etc/app.conf", "text", 0o600)
	dir := t.TempDir()
	for _, name := range []string{".1.db.deployer-4711", ".2.db.deployer-4712", ".3.db.deployer-x", "4.db.deployer-1", "5.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("partial"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("5.db", filepath.Join(dir, ".6.db.deployer-1")); err != nil {
		t.Fatal(err)
	}
	writer, err := os.Open(filepath.Join(dir, ".2.db.deployer-4712"))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := syscall.Flock(int(writer.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, actx, &Fetch{Src: "/etc/app.conf", Dest: dir + "/", Flat: true}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := []string{".2.db.deployer-4712", ".3.db.deployer-x", ".6.db.deployer-1", "4.db.deployer-1", "5.db", "app.conf"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
