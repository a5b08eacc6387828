package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiagnose examines fake hosts whose journalctl prints secrets, one of which is
// down. etcd and the API do not run: both are findings.
func TestDiagnose(t *testing.T) {
	c := newCertifiedSite(t)
	key := testKeyPEM(t)
	const token = "Jv7Qm2Lr9XcT4bNwYk6Hd8Pz3RfGs5Va1EuMo0Ix" // a random text, no real token
	log := "kubelet started\nOut of memory: Killed process 7 (java)\n" + key +
		"client-key-data: " + base64.StdEncoding.EncodeToString([]byte(key)) + "\nAuthorization: Bearer " + token +
		"\nkind: Secret\ndata:\n  password: aHVudGVyMjI=\n---\nfrom the inventory: inventory-secret-7\n"
	c.fakeProgram("journalctl", "cat <<'END'\n"+log+"END\n")
	c.fakeProgram("systemctl", "printf 'Id=backup.service\\nActiveState=failed\\nResult=exit-code\\nExecMainStatus=3\\n'\n")
	inventory, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.write("inventory.yaml", string(inventory)+"vars: {app_key: !secret inventory-secret-7}\n")
	c.fleet.Hosts[1].Stop()

	out, _ := c.deployer(exitUnhealthy, "diagnose", "-o", "case.tar.gz", "--since", "1h")
	requireTexts(t, out, "critical", "2 hosts", "hosts that could not be examined: 1", "wrote case.tar.gz")
	info, err := os.Stat("case.tar.gz")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the archive: %v, %v", info, err)
	}
	files := readTarGzip(t, "case.tar.gz")
	master, minion := c.fleet.Hosts[0].Name, c.fleet.Hosts[1].Name
	page := files["README.md"]
	for _, text := range []string{"host could not be examined", "**" + minion + "**", "backup.service: exit-code", "no memory", "The kernel has killed processes"} {
		if !strings.Contains(strings.ToLower(page), strings.ToLower(text)) {
			t.Errorf("the first page lacks %q:\n%s", text, page)
		}
	}
	for _, name := range []string{"units/kubelet.service.log", "units/etcd.service.log", "system/clock.txt", "system/disks.txt", "network/sockets.txt", "checks.json", "certificates.json"} {
		if files["hosts/"+master+"/"+name] == "" {
			t.Errorf("the archive lacks %s", name)
		}
	}
	if text := files["hosts/"+master+"/units/kubelet.service.log"]; !strings.Contains(text, "kubelet started") {
		t.Errorf("the log of the kubelet: %q", text)
	}
	secrets := []string{token, "aHVudGVyMjI=", "inventory-secret-7", strings.Split(key, "\n")[1], base64.StdEncoding.EncodeToString([]byte(key))[:40]}
	for name, text := range files {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s has the secret %q", name, secret)
			}
		}
	}
}

func TestDiagnoseRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"--file", "a.zip"}, {"--since", "0s"}, {"--max-mib", "0"}} {
		var out strings.Builder
		if code := run(t.Context(), append([]string{"diagnose"}, args...), strings.NewReader(""), &out, &out); code != exitUsage || !strings.Contains(out.String(), args[0]) {
			t.Errorf("%v: exit code %d: %s", args, code, out.String())
		}
	}
}

// fakeProgram puts a program in front of those of the machine, for the hosts of the test.
func (s *testSite) fakeProgram(name, script string) {
	s.t.Helper()
	dir, err := filepath.Abs("programs")
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join(dir, name), "#!/bin/sh\n"+script)
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if !strings.HasPrefix(os.Getenv("PATH"), dir) {
		s.t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
}

func testKeyPEM(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// readTarGzip returns the files of an archive by their names below its directory.
func readTarGzip(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		out[name] = string(text)
	}
}
