package transport

import (
	"context"
	"io"
)

// Killer is implemented by processes that can be killed. Close must be called after
// Kill too.
type Killer interface{ Kill() }

// Finish feeds a started process, copies its output and waits for its end.
// Transports implement Exec with it. A command that does not read its whole input is
// no error.
func Finish(ctx context.Context, p Process, stdin io.Reader, stdout io.Writer) (Exit, error) {
	if stdout == nil {
		stdout = io.Discard
	}
	go func() {
		if stdin != nil {
			_, _ = io.Copy(p.Stdin(), stdin)
		}
		_ = p.Stdin().Close()
	}()
	type outcome struct {
		exit Exit
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		_, copyErr := io.Copy(stdout, p.Stdout())
		if copyErr != nil {
			_ = p.Close() // otherwise the command would block on its output forever
		}
		exit, err := p.Wait()
		if err == nil {
			err = copyErr
		}
		done <- outcome{exit, err}
	}()
	select {
	case o := <-done:
		_ = p.Close()
		return o.exit, o.err
	case <-ctx.Done():
		if k, ok := p.(Killer); ok {
			k.Kill()
		}
		_ = p.Close()
		<-done // no write to stdout after Exec has returned
		return Exit{}, context.Cause(ctx)
	}
}
