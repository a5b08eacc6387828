package account

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestRestorersReadAccounts(t *testing.T) {
	t.Parallel()
	sys := accounts(t)
	user, err := UserRestorer.Read(context.Background(), sys, "ann")
	if err != nil {
		t.Fatal(err)
	}
	want := engine.State{"uid": "1001", "gid": "1001", "comment": "Ann", "home": "/home/ann", "shell": "/bin/sh",
		"groups": "adm,wheel", keyPassword: "$y$hash"}
	if diff := cmp.Diff(want, user); diff != "" {
		t.Error(diff)
	}
	group, err := GroupRestorer.Read(context.Background(), sys, "wheel")
	if diff := cmp.Diff(engine.State{"gid": "10", "member bob": "yes", "member ann": "yes"}, group); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if kind, name := GroupRestorer.OwnerOf("member bob"); kind != "user" || name != "bob" {
		t.Error(kind, name)
	}
	if kind, _ := GroupRestorer.OwnerOf("gid"); kind != "" {
		t.Error(kind)
	}
	for _, r := range []*engine.Restorer{UserRestorer, GroupRestorer} {
		if none, err := r.Read(context.Background(), sys, "nobody-here"); len(none) > 0 || err != nil {
			t.Error(none, err)
		}
	}
}

func accounts(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"user": {}, "group": {}, "gpasswd": {}, "chpasswd": {}})
	sys.Write(t, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1001:1001:Ann:/home/ann:/bin/sh\n", 0o644)
	sys.Write(t, "/etc/group", "root:x:0:\nwheel:x:10:bob,ann\nadm:x:4:ann\nann:x:1001:\n", 0o644)
	sys.Write(t, "/etc/shadow", "ann:$y$hash:1::::::\n", 0o600)
	return sys
}

func TestRestoresAccounts(t *testing.T) {
	t.Parallel()
	ann := engine.State{"uid": "1001", "gid": "1001", "comment": "Ann", "home": "/home/ann", "shell": "/bin/sh", "groups": "adm", keyPassword: "$y$hash"}
	options := "--gid 1001 --home /home/ann --shell /bin/sh --comment Ann --groups adm ann"
	zsh := engine.State{"uid": "1001", "gid": "1001", "shell": "/bin/zsh", keyPassword: "$y$hash"}
	alone := engine.State{"uid": "1002", "gid": "1002", "comment": "", "home": "/", "shell": "/bin/sh"}
	tests := map[string]struct {
		restorer *engine.Restorer
		now, to  engine.State
		ran      []string
	}{
		"user that was made":         {UserRestorer, ann, nil, []string{"userdel ann"}},
		"user that was removed":      {UserRestorer, nil, ann, []string{"useradd --no-create-home --uid 1001 " + options, "chpasswd --encrypted"}},
		"user whose group went, too": {UserRestorer, nil, alone, []string{"groupadd --gid 1002 ann", "useradd --no-create-home --uid 1002 --gid 1002 --home / --shell /bin/sh --comment  --groups  ann"}},
		"user that was changed":      {UserRestorer, zsh, ann, []string{"usermod " + options}},
		"group that was made":        {GroupRestorer, engine.State{"gid": "5"}, nil, []string{"groupdel ann"}},
		"group that was removed":     {GroupRestorer, nil, engine.State{"gid": "5", "member a": "yes", "member b": "yes"}, []string{"groupadd --gid 5 ann", "gpasswd --members a,b ann"}},
	}
	for name, tt := range tests {
		sys := accounts(t)
		if err := tt.restorer.Restore(context.Background(), sys, "ann", tt.now, tt.to); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.ran, sys.Ran()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestModulesBackUpUsersGroupsAndHomes(t *testing.T) {
	t.Parallel()
	sys := accounts(t)
	sys.Write(t, "/etc/skel/.profile", "", 0o644)
	if _, _, err := tasktest.Run(t, sys, &User{Name: "cat", Append: true}); err == nil {
		t.Fatal("the script has made a user")
	}
	if diff := cmp.Diff([]string{"/home/cat", "/home/cat/.profile"}, sys.Kept()); diff != "" {
		t.Error(diff)
	}
	if _, _, err := tasktest.Run(t, sys, &User{Name: "ann", State: "absent"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tasktest.Run(t, sys, &Group{Name: "adm", State: "absent"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"user cat: none", "user ann: comment=Ann gid=1001 groups=adm,wheel home=/home/ann secret_password=$y$hash shell=/bin/sh uid=1001", "group adm: gid=4 member ann=yes"}
	if diff := cmp.Diff(want, sys.States()); diff != "" {
		t.Error(diff)
	}
}
