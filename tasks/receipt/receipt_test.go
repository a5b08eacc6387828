package receipt

import (
	"os"
	"testing"

	"deployer/tasks/tasktest"
)

func TestReceiptRoundTrip(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	path := Path("test", "a", "b")
	if path == Path("test", "ab") || path == Path("test", "b", "a") || path != Path("test", "a", "b") {
		t.Error("paths do not tell what they are about")
	}
	var got map[string]string
	if Read(sys, path, &got) {
		t.Error("a receipt before any was written")
	}
	if err := Write(sys, path, map[string]string{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	if !Read(sys, path, &got) || got["k"] != "v" {
		t.Errorf("read %v", got)
	}
	if info, err := os.Stat(sys.Path(path)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info, err)
	}
	sys.Write(t, path, "{cut", 0o600)
	if Read(sys, path, &got) {
		t.Error("a broken receipt is believed")
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	if Claimed(sys) {
		t.Error("a fresh host is claimed")
	}
	for range 2 {
		if err := Claim(sys); err != nil || !Claimed(sys) {
			t.Errorf("%v, claimed %t", err, Claimed(sys))
		}
	}
}

func TestClaimedWithoutReceipts(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{
		"# Written by deployer. Settings are in ...\n[Unit]\n":    true,
		"{\"# Written by deployer.\": \"...\",\n\"auths\": {}}\n": true,
		"{\"auths\": {\"# Written by deployer.\": {}}}\n":         false,
		"# Written by deployer":                                   true,
		"[Unit]\nDescription=kubelet of kubeadm\n":                false,
		"#": false,
	} {
		sys := tasktest.New(t)
		sys.Write(t, "/etc/systemd/system/kubelet.service", content, 0o644)
		if Claimed(sys) != want {
			t.Errorf("a host with a kubelet unit %q: claimed is %t", content, !want)
		}
		if err := Claim(sys); err != nil {
			t.Error(err)
		}
		if err := os.Remove(sys.Path("/etc/systemd/system/kubelet.service")); err != nil {
			t.Error(err)
		}
		if !Claimed(sys) {
			t.Error("the receipt was not written again")
		}
	}
}
