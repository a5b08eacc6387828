package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	"deployer/test/lab/container"
)

// Watch boots hosts that have requested a reboot, until ctx ends. Hosts that were
// shut down or killed stay down. tell gets a line for each boot.
func (l *Lab) Watch(ctx context.Context, tell func(string)) {
	var all sync.WaitGroup
	for _, h := range l.Hosts {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := l.watch(ctx, h.Name, tell); err != nil && ctx.Err() == nil {
					tell(fmt.Sprintf("watching %s: %v", h.Name, err))
					pause(ctx, time.Second)
				}
			}
		})
	}
	all.Wait()
}

// watch waits until a host is down, and boots it when it has requested a reboot.
func (l *Lab) watch(ctx context.Context, host string, tell func(string)) error {
	code, err := l.engine.Ended(ctx, l.box(host))
	if err != nil {
		return err
	}
	if code != container.RebootCode {
		pause(ctx, time.Second)
		return nil
	}
	if err := l.Start(ctx, host); err != nil {
		return err
	}
	tell(host + " has rebooted itself")
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
