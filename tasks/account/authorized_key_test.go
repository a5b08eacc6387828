package account

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

const (
	keyA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB a@x"
	keyB = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC b@x"
	keyC = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAAABAw== c@x"
)

func home(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/passwd", "ops:x:"+strconv.Itoa(os.Getuid())+":"+strconv.Itoa(os.Getgid())+"::/home/ops:/bin/sh\n", 0o644)
	sys.Mkdir(t, "/home/ops")
	return sys
}

func TestAuthorizedKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have   string
		module AuthorizedKey
		want   string
	}{
		"no file":                {"", AuthorizedKey{Key: strictyaml.Texts{keyA}}, keyA + "\n"},
		"additional key":         {"# mine\n" + keyB, AuthorizedKey{Key: strictyaml.Texts{keyA}}, "# mine\n" + keyB + "\n" + keyA + "\n"},
		"two keys in a text":     {"", AuthorizedKey{Key: strictyaml.Texts{"# team\n" + keyA + "\n\n" + keyC + "\n"}}, keyA + "\n" + keyC + "\n"},
		"other options":          {"no-pty " + keyA + "\n" + keyB + "\n", AuthorizedKey{Key: strictyaml.Texts{keyA}, Options: `from="10.0.0.0/8"`}, `from="10.0.0.0/8" ` + keyA + "\n" + keyB + "\n"},
		"no options":             {"no-pty " + keyA + "\n", AuthorizedKey{Key: strictyaml.Texts{keyA}}, keyA + "\n"},
		"duplicate key":          {keyA + "\n" + keyB + "\n" + keyA + "\n", AuthorizedKey{Key: strictyaml.Texts{keyA}}, keyA + "\n" + keyB + "\n"},
		"exclusive":              {"# mine\n" + keyB + "\n" + keyC + "\n", AuthorizedKey{Key: strictyaml.Texts{keyC}, Exclusive: true}, "# mine\n" + keyC + "\n"},
		"exclusive without keys": {keyB + "\n", AuthorizedKey{Exclusive: true}, ""},
		"absent":                 {keyA + "\n" + keyB + "\n", AuthorizedKey{Key: strictyaml.Texts{keyA}, State: "absent"}, keyB + "\n"},
		"invalid line":           {"garbage\n" + keyB + "\n", AuthorizedKey{Key: strictyaml.Texts{keyB}, State: "absent"}, "garbage\n"},
		"quoted options":         {`command="echo \"ssh-rsa\" x" ` + keyA + "\n", AuthorizedKey{Key: strictyaml.Texts{`command="ls -l" ` + keyA}}, `command="ls -l" ` + keyA + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := home(t)
			if tt.have != "" {
				sys.Write(t, "/home/ops/.ssh/authorized_keys", tt.have, 0o600)
			}
			tt.module.User = "ops"
			tasktest.Converge(t, sys, &tt.module)
			if diff := cmp.Diff(tt.want, sys.Read(t, "/home/ops/.ssh/authorized_keys")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"/home/ops/.ssh", "/home/ops/.ssh/authorized_keys"}, sys.Kept()); diff != "" {
				t.Error("kept:", diff)
			}
			left, err := os.ReadDir(sys.Path("/home/ops/.ssh"))
			if err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestAuthorizedKeysFilePassesStrictModes: mode and owner of the file and of new
// directories are those that sshd requires.
func TestAuthorizedKeysFilePassesStrictModes(t *testing.T) {
	t.Parallel()
	sys := home(t)
	sys.Write(t, "/home/ops/.ssh/authorized_keys", keyA+"\n", 0o666)
	if err := os.Chmod(sys.Path("/home/ops/.ssh"), 0o777); err != nil {
		t.Fatal(err)
	}
	change := tasktest.Converge(t, sys, &AuthorizedKey{User: "ops", Key: strictyaml.Texts{keyA}})
	want := "set mode of .ssh 0777 -> 0700, set mode of .ssh/authorized_keys 0666 -> 0600"
	if got := change.Effects[0].Action; got != want {
		t.Errorf("action %q, want %q", got, want)
	}
	for path, mode := range map[string]os.FileMode{"/home/ops/.ssh": 0o700, "/home/ops/.ssh/authorized_keys": 0o600} {
		if info, err := os.Stat(sys.Path(path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestLinksOutOfTheHomeAreNotFollowed: a user cannot redirect writes of root out of the
// home directory.
func TestLinksOutOfTheHomeAreNotFollowed(t *testing.T) {
	t.Parallel()
	for name, link := range map[string][2]string{
		"directory": {"../../root/.ssh", "/home/ops/.ssh"},
		"file":      {"../../../root/.ssh/authorized_keys", "/home/ops/.ssh/authorized_keys"},
	} {
		sys := home(t)
		sys.Write(t, "/root/.ssh/authorized_keys", keyB+"\n", 0o600)
		if name == "file" {
			sys.Mkdir(t, "/home/ops/.ssh")
		}
		if err := os.Symlink(link[0], sys.Path(link[1])); err != nil {
			t.Fatal(err)
		}
		_, _, err := tasktest.Run(t, sys, &AuthorizedKey{User: "ops", Key: strictyaml.Texts{keyA}})
		if err == nil || !strings.Contains(err.Error(), "leads out of the home directory") {
			t.Errorf("%s: error %v", name, err)
		}
		if got := sys.Read(t, "/root/.ssh/authorized_keys"); got != keyB+"\n" {
			t.Errorf("%s: the other user's keys are %q", name, got)
		}
	}
}

// TestHugeKeysFileIsRefused: a user cannot make the agent read more than fits into memory.
func TestHugeKeysFileIsRefused(t *testing.T) {
	t.Parallel()
	sys := home(t)
	sys.Write(t, "/home/ops/.ssh/authorized_keys", keyB+"\n", 0o600)
	if err := os.Truncate(sys.Path("/home/ops/.ssh/authorized_keys"), 64<<20+1); err != nil {
		t.Fatal(err)
	}
	_, _, err := tasktest.Run(t, sys, &AuthorizedKey{User: "ops", Key: strictyaml.Texts{keyA}})
	if err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("error %v", err)
	}
}

func TestAuthorizedKeyErrors(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]*AuthorizedKey{
		"is not a public key":         {Key: strictyaml.Texts{"-----BEGIN OPENSSH PRIVATE KEY-----"}},
		"is not base64":               {Key: strictyaml.Texts{"ssh-rsa A"}},
		"does not belong to its type": {Key: strictyaml.Texts{"ssh-rsa " + strings.Fields(keyA)[1]}},
		"there is no key":             {Key: strictyaml.Texts{}},
		"there is no user nobody":     {User: "nobody", Key: strictyaml.Texts{keyA}},
		"create it first":             {User: "homeless", Key: strictyaml.Texts{keyA}},
		"has no home directory":       {User: "odd", Key: strictyaml.Texts{keyA}},
	} {
		sys := home(t)
		sys.Write(t, "/etc/passwd", sys.Read(t, "/etc/passwd")+"homeless:x:5:5::/home/none:/bin/sh\nodd:x:6:6:::/bin/sh\n", 0o644)
		if m.User == "" {
			m.User = "ops"
		}
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(keyA, "no-pty "+keyB+"\n# x\n")
	f.Add(`command="a \" b" `+keyA, "")
	f.Fuzz(func(t *testing.T, key, content string) {
		k, err := parseKey(key)
		if err != nil {
			return
		}
		once := edit(content, []publicKey{k}, false, false)
		if twice := edit(once, []publicKey{k}, false, false); twice != once {
			t.Errorf("not settled: %q, then %q", once, twice)
		}
	})
}
