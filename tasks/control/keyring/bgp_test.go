package keyring

import (
	"testing"
	"time"
)

// TestBGPPassword: a new cluster gets a password, an existing cluster without password
// gets none, and an existing password stays.
func TestBGPPassword(t *testing.T) {
	keys := newKeys(t)
	password := keys.BGPPassword()
	if len(password) < 32 || len(password) > 80 {
		t.Errorf("the password has %d bytes", len(password))
	}
	if newKeys(t).BGPPassword() == password {
		t.Error("two clusters have the same password")
	}
	again, made, err := Complete(keys.Files(), time.Now(), 0, nil)
	if err != nil || len(made) != 0 || again.BGPPassword() != password {
		t.Errorf("second time: created %v, %v", made, err)
	}
	old, made, err := Complete(without(keys.Files(), BGPPassword), time.Now(), 0, nil)
	if err != nil || len(made) != 0 || old.BGPPassword() != "" {
		t.Errorf("an existing cluster without password: created %v, %v", made, err)
	}
	for _, f := range old.Share(Share{Master: true, API: true}) {
		if f.Path == BGPPassword {
			t.Error("its masters get an empty file")
		}
	}
	for _, f := range keys.Share(Share{API: true, Etcd: true}) {
		if f.Path == BGPPassword {
			t.Error("hosts that are no masters get the masters' file")
		}
	}
}
