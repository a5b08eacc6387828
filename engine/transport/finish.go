package transport

import (
	"context"
	"io"
)

// Killer is implemented by processes that can be killed; Close is called after
// that too.
type Killer interface{ Kill() }

// Finish feeds a started process, copies its output and waits for it; it is
// Exec in terms of Start, for implementations. A command that does not read its
// input to the end is no error.
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
			_ = p.Close() // or the command would wait for us for ever
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
		<-done // stdout must not be written to after Exec has returned
		return Exit{}, context.Cause(ctx)
	}
}
