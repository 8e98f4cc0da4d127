package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const probeHelp = `Ask the running server at --health-socket whether it is ready, for an exec probe.

An HTTP probe asks an address, and where two servers share one (--reuse-port),
or a new one waits for the address of the old one, it can't tell which of them
it asks. The socket is a file, so that in a container it is this server's alone.

The exit status is 0 when the server is ready, else 1, with what it waits for.
With --live it is 0 whenever the server answers.

Example:

  clusterzone probe --health-socket /run/clusterzone/health`

// maxSocketPath is the length of a Unix socket's path at most, in octets: the kernel
// wants an octet of zero behind it (unix(7)).
const maxSocketPath = 107

// probeTimeout bounds a probe. Kubernetes has a limit of its own, which is mostly
// shorter.
const probeTimeout = 10 * time.Second

func addHealthSocket(f flags, path *string) {
	f.text(path, "health-socket", "", "Unix socket at this `path` that has /metrics, /healthz and /readyz of this process alone, also while another one has --metrics-address; \"clusterzone probe\" asks it (default: none)")
}

func newProbe() *cobra.Command {
	var path, config string
	var live bool
	cmd := &cobra.Command{
		Use:   "probe [flags]",
		Short: "Ask a running server whether it is ready",
		Long:  probeHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolve(cmd, os.LookupEnv); err != nil {
				return err
			}
			if err := checkSocketPath(path); err != nil {
				return err
			}
			if path == "" {
				return errors.New("--health-socket is empty; give the path that the server has")
			}
			page := "/readyz"
			if live {
				page = "/healthz"
			}
			return probe(cmd.Context(), cmd.OutOrStdout(), path, page)
		},
	}
	f := flagsOf(cmd, groupServe)
	addHealthSocket(f, &path)
	f.yes(&live, "live", false, "be content with a server that answers, ready or not")
	addConfigFile(flagsOf(cmd, groupGeneral), &config)
	return cmd
}

// probe prints a page of the server behind a socket; a failure unless it is 200.
func probe(ctx context.Context, out io.Writer, path, page string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+page, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return failure{fmt.Errorf("no server answers at %s: %w", path, errors.Unwrap(err))}
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return failure{fmt.Errorf("the server at %s has not answered to the end: %w", path, err)}
	}
	if response.StatusCode != http.StatusOK {
		return failure{fmt.Errorf("not ready: %s", strings.TrimSpace(string(text)))}
	}
	_, err = out.Write(text)
	return err
}

// checkSocketPath says what is wrong with a path for a Unix socket.
func checkSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("--health-socket=%s has %d octets, and the path of a Unix socket may have %d; choose a shorter one", path, len(path), maxSocketPath)
	}
	return nil
}

// listenSocket opens a Unix socket for its owner alone. What a process that was
// killed has left there is removed; where somebody still listens, it is an error.
func listenSocket(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		conn, asked := net.DialTimeout("unix", path, probeTimeout)
		if asked == nil {
			return nil, errors.Join(err, conn.Close())
		}
		if !errors.Is(asked, syscall.ECONNREFUSED) {
			return nil, err
		}
		if gone := os.Remove(path); gone != nil {
			return nil, gone
		}
		listener, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}
