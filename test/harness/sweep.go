//go:build lab

package harness

import (
	"context"
	"log"

	"deployer/test/lab/lab"
)

// SweepLabs removes labs of killed test processes. Call it in TestMain.
func SweepLabs() {
	if _, err := lab.Sweep(context.Background()); err != nil {
		log.Fatalf("removing labs that nobody owns any more: %v", err)
	}
}
