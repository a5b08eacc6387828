//go:build lab

package etcd

import (
	"fmt"
	"os"
	"testing"

	"deployer/test/harness"
)

func TestMain(m *testing.M) {
	harness.SweepLabs()
	code := m.Run()
	fmt.Printf("etcd steps=%d\n", steps)
	os.Exit(code)
}
