package account

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// shadow makes the test host run fakes of useradd and the like, which change its
// files.
func shadow(t *testing.T, sys *tasktest.System) func(context.Context, engine.Command) (engine.CommandResult, error) {
	edit := func(path string, change func(lines []string) []string) {
		lines := strings.Split(strings.TrimSuffix(sys.Read(t, path), "\n"), "\n")
		sys.Write(t, path, strings.Join(change(lines), "\n")+"\n", 0o644)
	}
	without := func(name string) func([]string) []string {
		return func(lines []string) []string {
			return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+":") })
		}
	}
	with := func(line string) func([]string) []string {
		return func(lines []string) []string { return append(lines, line) }
	}
	return func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		line, name := strings.Join(cmd.Argv, " "), cmd.Argv[len(cmd.Argv)-1]
		switch line {
		case "groupadd --system --gid 70 etcd":
			edit("/etc/group", with("etcd:x:70:"))
		case "useradd --system --no-create-home --uid 70 --gid etcd --home /var/lib/etcd --shell /usr/sbin/nologin --groups adm etcd":
			edit("/etc/passwd", with("etcd:x:70:70::/var/lib/etcd:/usr/sbin/nologin"))
			edit("/etc/group", func([]string) []string { return []string{"root:x:0:", "etcd:x:70:", "adm:x:4:etcd"} })
		case "useradd --create-home --gid web --comment Web Person web": // its group was there before
			edit("/etc/passwd", with("web:x:1001:80:Web Person:/home/web:/bin/sh"))
			edit("/etc/shadow", with("web:!:20000:::::"))
		case "usermod --shell /bin/sh --append --groups adm ops":
			edit("/etc/passwd", func([]string) []string { return []string{"ops:x:1000:1000::/home/ops:/bin/sh"} })
			edit("/etc/group", func([]string) []string { return []string{"adm:x:4:x,ops"} })
		case "usermod --home /srv/ops --comment  --move-home --groups adm ops":
			edit("/etc/passwd", func([]string) []string { return []string{"ops:x:1000:1000::/srv/ops:/bin/sh"} })
			edit("/etc/group", func([]string) []string { return []string{"adm:x:4:ops", "old:x:5:"} })
		case "usermod --lock ops", "usermod --unlock ops":
			edit("/etc/shadow", func(lines []string) []string {
				rest := strings.TrimPrefix(strings.TrimPrefix(lines[0], "ops:"), "!")
				return []string{map[bool]string{true: "ops:!", false: "ops:"}[cmd.Argv[1] == "--lock"] + rest}
			})
		case "chpasswd --encrypted":
			name, hash, _ := strings.Cut(strings.TrimSpace(string(cmd.Stdin)), ":")
			edit("/etc/shadow", func(lines []string) []string {
				return append(without(name)(lines), name+":"+hash+":20000:::::")
			})
		case "userdel " + name, "userdel --remove " + name:
			edit("/etc/passwd", without(name))
		case "groupdel " + name:
			edit("/etc/group", without(name))
		default:
			return engine.CommandResult{}, errors.New("unexpected: " + line)
		}
		return engine.CommandResult{}, nil
	}
}

func TestAccountsAreIdempotent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		passwd, group string
		module        engine.Module
		action        string
	}{
		"new group": {"", "root:x:0:", &Group{Name: "etcd", GID: 70, System: true}, "group etcd: create"},
		"old group": {"", "old:x:9:", &Group{Name: "old", State: "absent"}, "group old: remove"},
		"new user": {
			"root:x:0:0::/root:/bin/sh", "etcd:x:70:\nadm:x:4:",
			&User{Name: "etcd", UID: 70, Group: "etcd", Groups: []string{"adm"}, Home: "/var/lib/etcd", System: true}, "user etcd: create",
		},
		"changed user": {
			"ops:x:1000:1000::/home/ops:/bin/false", "adm:x:4:x",
			&User{Name: "ops", Shell: "/bin/sh", Groups: []string{" adm,"}, Append: true}, "user ops: set shell /bin/sh, further groups adm",
		},
		"user whose group is there, with a password": {
			"", "web:x:80:", &User{Name: "web", Comment: ptr("Web Person"), Password: "$y$new", UpdatePassword: "on_create"}, "user web: create",
		},
		"exactly these groups": {
			"ops:x:1000:1000:Old:/home/ops:/bin/sh", "adm:x:4:\nold:x:5:ops",
			&User{Name: "ops", Home: "/srv/ops", MoveHome: true, Comment: ptr(""), Groups: []string{"adm"}},
			`user ops: set home /srv/ops, comment "", further groups adm, no longer in groups old`,
		},
		"password": {"ops:x:1000:1000::/:/bin/sh", "", &User{Name: "ops", Password: "$y$new"}, "user ops: set password"},
		"locked":   {"ops:x:1000:1000::/:/bin/sh", "", &User{Name: "ops", Locked: ptr(true)}, "user ops: set locked"},
		"both":     {"ops:x:1000:1000::/:/bin/sh", "", &User{Name: "ops", Password: "$y$new", Locked: ptr(true)}, "user ops: set password, locked"},
		"user and home": {
			"ops:x:1000:1000::/home/ops:/bin/sh", "", &User{Name: "ops", State: "absent", Remove: true},
			"user ops: remove with /home/ops (cannot be undone)",
		},
		"old user": {"ops:x:1000:1000::/:/bin/sh", "", &User{Name: "ops", State: "absent"}, "user ops: remove"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/etc/passwd", tt.passwd+"\n", 0o644)
			sys.Write(t, "/etc/group", tt.group+"\n", 0o644)
			sys.Write(t, "/etc/shadow", "ops:$y$old:20000:::::\n", 0o600)
			sys.Exec = shadow(t, sys)
			change := tasktest.Converge(t, sys, tt.module)
			if diff := cmp.Diff([]string{tt.action}, tasktest.Actions(change)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// TestPasswordChangeKeepsTheLock: a new hash does not unlock a locked account, and
// on_create keeps the present password.
func TestPasswordChangeKeepsTheLock(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/passwd", "ops:x:1000:1000::/:/bin/sh\n", 0o644)
	sys.Write(t, "/etc/shadow", "ops:!$y$old:20000:::::\n", 0o600)
	sys.Exec = shadow(t, sys)
	if change := tasktest.Check(t, sys, &User{Name: "ops", Password: "$y$new", UpdatePassword: "on_create"}); change.Needed {
		t.Errorf("on_create wants %+v", change.Effects)
	}
	tasktest.Converge(t, sys, &User{Name: "ops", Password: "$y$new"})
	if got := sys.Read(t, "/etc/shadow"); got != "ops:!$y$new:20000:::::\n" {
		t.Errorf("shadow %q", got)
	}
	for _, line := range sys.Ran() {
		if strings.Contains(line, "$y$") {
			t.Errorf("the hash can be seen in the process list: %s", line)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/passwd", "ops:x:1000:1000::/:/bin/sh\ncut:x:1\n", 0o644)
	sys.Write(t, "/etc/group", "ops:x:1000:\n", 0o644)
	for want, m := range map[string]engine.Module{
		"user ops has the number 1000, not 5":  &User{Name: "ops", UID: 5},
		"group ops has the number 1000, not 5": &Group{Name: "ops", GID: 5},
		"not a name for a user":                &User{Name: "--x"},
		"not a name for a group":               &Group{Name: "A"},
		"password is not a hash":               &User{Name: "ops", Password: "secret"},
		"can have neither colons":              &User{Name: "ops", Home: "/a:b"},
		"lacks fields":                         &User{Name: "cut"},
	} {
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
