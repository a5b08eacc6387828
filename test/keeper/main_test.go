//go:build lab

package keeper

import (
	"fmt"
	"os"
	"testing"

	"deployer/test/harness"
)

func TestMain(m *testing.M) {
	harness.SweepLabs()
	code := m.Run()
	fmt.Printf("keeper scenarios=%d passed=%d recovered_max_s=%.0f moved_max_s=%.0f down_without_api_max_s=%.0f memory_max_mb=%.0f failed_writes=%d\n",
		scenarios, passed, recoveredMax.Seconds(), movedMax.Seconds(), withoutAPIMax.Seconds(), memoryMax, failedWrites)
	os.Exit(code)
}
