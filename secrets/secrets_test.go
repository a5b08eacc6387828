package secrets

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSealAndOpen goes through every way in which a key can be given.
func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mine, public, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	sshPublic, sshPrivate := sshKey(t)
	write(t, filepath.Join(home, "site", RecipientsFile), "# the team\n"+public+"\n\n"+sshPublic)
	to, err := Recipients(filepath.Join(home, "site", "group_vars"))
	if err != nil || len(to) != 2 {
		t.Fatalf("%d recipients, error %v", len(to), err)
	}
	content := []byte("password: hunter2\n")
	sealed, err := Seal(content, to)
	if err != nil || bytes.Contains(sealed, []byte("hunter2")) || !bytes.HasPrefix(sealed, []byte("-----BEGIN AGE")) {
		t.Fatalf("sealed as %s, error %v", sealed, err)
	}
	file := write(t, filepath.Join(home, "keys.txt"), mine)
	key := strings.Split(mine, "\n")[1]
	// GitLab writes a variable of the type file like this: any user may read it, lines end as
	// in the browser, and the last one has no end.
	fromCI := filepath.Join(home, "project.tmp", FilesVariable)
	write(t, fromCI, strings.TrimSuffix(strings.ReplaceAll(mine, "\n", "\r\n"), "\r\n"))
	if err := os.Chmod(fromCI, 0o666); err != nil {
		t.Fatal(err)
	}
	defaultHome, sshHome := t.TempDir(), t.TempDir()
	write(t, DefaultFiles(defaultHome)[0], mine)
	write(t, filepath.Join(sshHome, ".ssh", "id_ed25519"), sshPrivate)
	for name, keys := range map[string]*Keys{
		"variable with the key":   Environment(environment(map[string]string{KeyVariable: key}), home),
		"variable with files":     Environment(environment(map[string]string{FilesVariable: file}), home),
		"variable of a CI system": Environment(environment(map[string]string{FilesVariable: fromCI}), home),
		"file in its usual place": Environment(environment(nil), defaultHome),
		"SSH key":                 Environment(environment(nil), sshHome),
		"files that are named":    Files(file, filepath.Join(sshHome, ".ssh", "id_ed25519")),
	} {
		got, err := keys.Open("all.yaml.age", sealed)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: got %q, error %v", name, got, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, public, _ := Generate()
	other, _, _ := Generate()
	to, err := ParseRecipients("x", public)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := Seal([]byte("a: b"), to)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(mine, "\n")[1]
	file := write(t, filepath.Join(dir, "other.txt"), other)
	broken := write(t, filepath.Join(dir, "broken.txt"), key+"x\n")
	for want, c := range map[string]struct {
		vars map[string]string
		data []byte
	}{
		"there is no key: put one into":              {nil, sealed},
		"not encrypted to any key of yours (" + file: {map[string]string{FilesVariable: file}, sealed},
		"no such file":                          {map[string]string{FilesVariable: filepath.Join(dir, "none")}, sealed},
		broken + ": it holds no age identities": {map[string]string{FilesVariable: broken}, sealed},
		"the environment variable DEPLOYER_AGE_KEY holds no identity": {map[string]string{KeyVariable: key + "x"}, sealed},
		"opening all.yaml.age: ": {map[string]string{KeyVariable: key}, sealed[:len(sealed)/2]},
	} {
		want = strings.Replace(want, "holds no identity", "holds no age identity; for the path of a file use DEPLOYER_AGE_IDENTITIES", 1)
		_, err := Environment(environment(c.vars), t.TempDir()).Open("all.yaml.age", c.data)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
	if _, err := Files(filepath.Join(dir, "none")).Open("all.yaml.age", sealed); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	for text, want := range map[string]string{"": "names no public key", "age1x": "x:1:", "\n# c\nfoo": "x:3:"} {
		if _, err := ParseRecipients("x", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Recipients(dir); err == nil || !strings.Contains(err.Error(), RecipientsFile) {
		t.Errorf("error %v", err)
	}
}

func sshKey(t *testing.T) (public, private string) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(key)), string(pem.EncodeToMemory(block))
}
