package local_test

import (
	"testing"

	"deployer/engine/transport"
	"deployer/engine/transport/conformance"
	"deployer/engine/transport/local"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{
		Open: func(*testing.T) transport.Conn { return local.New("here") },
	})
}
