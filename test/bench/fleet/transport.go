package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"deployer/engine/transport"
	"deployer/engine/transport/ssh"
	"deployer/inventory"
	"deployer/test/fleet"
)

// Parameters of the measurement of the transport, in this process and without
// latency: it connects to hosts one after the other, and then sends one of them as
// many bytes as many agents have. The result is the processor time of this process.
const (
	transportHosts = 200
	transportBytes = 256 << 20
)

// transportRates are connections and megabytes for each second of processor time.
type transportRates struct {
	handshakes float64
	megabytes  float64
}

func (r transportRates) String() string {
	return fmt.Sprintf("transport handshakes_s=%.0f upload_mb_s=%.0f", r.handshakes, r.megabytes)
}

func measureTransport(ctx context.Context, inventoryPath string) (transportRates, error) {
	inv, err := inventory.Load(inventoryPath, inventory.Options{})
	if err != nil {
		return transportRates{}, err
	}
	dialer := ssh.NewDialer(ssh.Options{})
	defer dialer.Close()
	var conns []transport.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	connecting, err := spending(func() error {
		for _, h := range inv.Hosts {
			conn, err := dialer.Dial(ctx, fleet.Target(h))
			if err != nil {
				return err
			}
			conns = append(conns, conn)
		}
		return nil
	})
	if err != nil {
		return transportRates{}, err
	}
	sending, err := spending(func() error { return send(ctx, conns[0]) })
	return transportRates{
		handshakes: float64(len(conns)) / connecting.Seconds(),
		megabytes:  transportBytes / 1e6 / sending.Seconds(),
	}, err
}

// send sends transportBytes in pieces as large as an agent.
func send(ctx context.Context, conn transport.Conn) error {
	data := make([]byte, 16<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	for range transportBytes / len(data) {
		exit, err := conn.Exec(ctx, "discardInput", bytes.NewReader(data), nil)
		if err != nil {
			return err
		}
		if exit.Code != 0 {
			return fmt.Errorf("the host did not take it all: exit %d", exit.Code)
		}
	}
	return nil
}

// spending returns the processor time of this process that a function takes.
func spending(do func() error) (time.Duration, error) {
	before, err := processorTime()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := processorTime()
	return after - before, err
}
