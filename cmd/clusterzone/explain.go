package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

const explainHelp = `Say why a name resolves as it does, or doesn't: the records as they are
served, the object and the rule that each comes from, everything that was asked
for at the name and not given, the winner where several objects want it, the
wildcard that matches, and the next thing to check.

It asks the running server at --admin-address. With --manifests, --kubeconfig,
--context or --server, or zone files alone, it reads the objects itself, with the same flags as serve.

Example:

  clusterzone explain shop.corp.example
  clusterzone explain shop.corp.example AAAA -o json`

func newExplain() *cobra.Command {
	var settings objectSettings
	var admin, format string
	cmd := &cobra.Command{
		Use:   "explain NAME [TYPE] [flags]",
		Short: "Say why a name resolves as it does, or doesn't",
		Long:  explainHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("explain takes a name and, if you like, a record type: clusterzone explain shop.corp.example AAAA")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := resolve(cmd, os.LookupEnv); err != nil {
				return err
			}
			name, kind, err := parseQuestion(args[0], strings.Join(args[1:], ""))
			if err != nil {
				return err
			}
			print, ok := explainPrinters[format]
			if !ok {
				return fmt.Errorf("--output=%s is no format; write text or json", format)
			}
			x, err := settings.explain(cmd, admin, name, kind)
			if err != nil && !errors.As(err, new(failure)) {
				return err
			}
			if x != nil {
				err = errors.Join(print(cmd.OutOrStdout(), x), err)
			}
			return err
		},
	}
	f := flagsOf(cmd, groupOutput)
	cmd.Flags().StringVarP(&format, "output", "o", "text", "`format`: text or json")
	f.done("output")
	f.text(&admin, "admin-address", "127.0.0.1:7980", "`address` of the running server's admin API")
	settings.add(cmd)
	return cmd
}

// parseQuestion reads a name and an optional record type.
func parseQuestion(nameText, typeText string) (zones.Name, zones.Type, error) {
	name, err := zones.ParseName(nameText)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no domain name: %w", nameText, err)
	}
	if typeText == "" {
		return name, zones.TypeNone, nil
	}
	kind, err := zones.ParseType(typeText)
	if err != nil {
		return "", 0, fmt.Errorf("%w; write one like A, AAAA, CNAME or SRV", err)
	}
	return name, kind, nil
}

// An explanation says why a name resolves as it does, and how it is in each mirror.
type explanation struct {
	zones.Explanation
	Mirrors []mirror.NameState `json:"mirrors,omitempty"`
}

func (p *pipeline) explain(name zones.Name, kind zones.Type) *explanation {
	x := explanation{Mirrors: p.mirrors.explain(name)}
	p.feed.View(func(table *zones.Table, _ objectOf) {
		x.Explanation = table.Explain(name, kind, p.store.Load().Targets())
	})
	return &x
}

// explain asks a running server, or reads the objects itself where a flag says
// from where.
func (s *objectSettings) explain(cmd *cobra.Command, admin string, name zones.Name, kind zones.Type) (*explanation, error) {
	if !s.alone() && len(s.origin.manifests) == 0 && s.origin.kubeconfig == "" && s.origin.context == "" && s.origin.server == "" {
		return askServer(cmd.Context(), admin, name, kind)
	}
	log, err := s.general.logger(cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if err := s.prepare(quiet(log), os.LookupEnv); err != nil {
		return nil, err
	}
	p, err := s.assemble(quiet(log), pipelineOptions{})
	if err != nil {
		return nil, err
	}
	if len(p.origins) == 0 {
		return nil, errNoZone
	}
	readErr := p.once(cmd.Context(), cmd.InOrStdin())
	if readErr != nil && !errors.As(readErr, new(failure)) {
		return nil, readErr
	}
	return p.explain(name, kind), readErr
}

// askTimeout bounds a question to a running server.
const askTimeout = 10 * time.Second

func askServer(ctx context.Context, admin string, name zones.Name, kind zones.Type) (*explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	query := url.Values{"name": {name.String()}}
	if kind != zones.TypeNone {
		query.Set("type", kind.String())
	}
	address := url.URL{Scheme: "http", Host: admin, Path: "/api/v1/explain", RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("--admin-address=%s is no address; write it like 127.0.0.1:7980", admin)
	}
	// The server answers to addresses only, since a browser may be made to ask
	// under any name; this is none.
	request.Host = "localhost"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, failure{fmt.Errorf("no server answers at --admin-address=%s (%w); start one, or read the objects here with --manifests or --kubeconfig", admin, listenCause(err))}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var problem apiError
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || problem.Message == "" {
			problem.Message = response.Status
		}
		return nil, failure{fmt.Errorf("the server at %s says: %w", admin, problem)}
	}
	var x explanation
	if err := json.NewDecoder(response.Body).Decode(&x); err != nil {
		return nil, failure{fmt.Errorf("the server at %s answers with something else than an explanation: %w", admin, err)}
	}
	return &x, nil
}

var explainPrinters = map[string]func(io.Writer, *explanation) error{
	"text": printExplanation,
	"json": func(w io.Writer, x *explanation) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(x)
	},
}

func printExplanation(w io.Writer, x *explanation) error {
	var text strings.Builder
	writeExplanation(&text, &x.Explanation)
	writeMirrored(&text, x.Mirrors)
	_, err := io.WriteString(w, text.String())
	return err
}

// writeMirrored tells how a name is in the clouds.
func writeMirrored(w *strings.Builder, states []mirror.NameState) {
	if len(states) > 0 {
		w.WriteString("mirrors:\n")
	}
	for i := range states {
		s := &states[i]
		fmt.Fprintf(w, "  %s, zone %s (%s): %s", s.Mirror, s.Zone, s.ID, s.State)
		if s.Detail != "" {
			w.WriteString(": " + s.Detail)
		}
		w.WriteString("\n")
		for _, record := range s.Records {
			fmt.Fprintf(w, "    %s\n", record)
		}
	}
}

func writeExplanation(w *strings.Builder, x *zones.Explanation) {
	fmt.Fprintf(w, "%s: %s\n", x.Name, x.Outcome)
	fmt.Fprintf(w, "  %s\n", x.Detail)
	if len(x.Records) > 0 {
		fmt.Fprintf(w, "records (zone %s, serial %d):\n", x.Zone, x.Serial)
	}
	for _, set := range x.Records {
		for _, data := range set.Data {
			fmt.Fprintf(w, "  %s %d %s %s\n", x.Name, set.TTL, set.Type, data)
		}
		for _, from := range set.From {
			writeSource(w, from)
		}
	}
	if x.Outside != nil {
		writeOutside(w, x.Outside)
	}
	if len(x.Skipped) > 0 {
		w.WriteString("skipped:\n")
	}
	for _, skip := range x.Skipped {
		fmt.Fprintf(w, "  %s: %s [%s]\n", skip.Object, skip.Message, skip.Reason)
	}
	if x.Next != "" {
		fmt.Fprintf(w, "next: %s\n", x.Next)
	}
	if x.Target != nil {
		w.WriteString("the CNAME leads on to:\n\n")
		writeExplanation(w, x.Target)
	}
}

// writeOutside tells what is known of a target outside of the zones.
func writeOutside(w *strings.Builder, target *zones.ExplainedTarget) {
	fmt.Fprintf(w, "target outside of the zones:\n  %s: %s", target.Name, target.State)
	if len(target.Addresses) > 0 {
		fmt.Fprintf(w, ", %s for %d seconds", strings.Join(target.Addresses, " "), target.TTL)
	}
	if !target.Good.IsZero() {
		fmt.Fprintf(w, ", last looked up well at %s", target.Good.UTC().Format(time.RFC3339))
	}
	if target.Problem != "" {
		fmt.Fprintf(w, ": %s", target.Problem)
	}
	w.WriteString("\n")
}

func writeSource(w *strings.Builder, from zones.ExplainedSource) {
	fmt.Fprintf(w, "    from %s", from.Object)
	var parts []string
	if !from.Created.IsZero() {
		parts = append(parts, "created "+from.Created.UTC().Format(time.RFC3339))
	}
	if from.NameFrom != "" {
		parts = append(parts, "name: "+from.NameFrom)
	}
	if from.TargetsFrom != "" {
		parts = append(parts, "targets: "+from.TargetsFrom)
	}
	if from.FlattenedTo != "" {
		parts = append(parts, "in place of a CNAME to "+from.FlattenedTo.String())
	}
	if from.Held != nil {
		parts = append(parts, fmt.Sprintf("held since %s, until %s", from.Held.Since.UTC().Format(time.RFC3339), from.Held.Until.UTC().Format(time.RFC3339)))
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, " (%s)", strings.Join(parts, "; "))
	}
	w.WriteString("\n")
}
