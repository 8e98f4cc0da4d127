package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

const planHelp = `Print what the mirrors would write to their clouds now, and exit. Nothing is
written. Flags are those of serve.

Each zone's changes are listed in words, then what guards or the policy hold
back, and the names that can't be written, with the owner that has them. A
deletion that only has to wait its time counts as one that would be made. Whether
deletions wait for --mirror-acknowledge is read where serve keeps it.

With --diff, the question is what would change if this instance took the zone
over from external-dns now: every record that would be changed, created or
deleted under any policy, and whether that is nothing. The exit status is 1
where it is not.

Example:

  clusterzone plan --zone corp.example --provider aws --txt-owner-id one
  clusterzone plan --diff --config clusterzone.yaml -o json`

func newPlan() *cobra.Command {
	var settings objectSettings
	var mirrors mirrorsSettings
	var format, stateFile string
	var diff bool
	cmd := &cobra.Command{
		Use:   "plan [flags]",
		Short: "Print what would be written to clouds, and exit",
		Long:  planHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolve(cmd, os.LookupEnv); err != nil {
				return err
			}
			if format != "text" && format != "json" {
				return fmt.Errorf("--output=%s is no format; write text or json", format)
			}
			plans, err := settings.plan(cmd, &mirrors, stateFile, diff)
			if err != nil && !errors.As(err, new(failure)) {
				return err
			}
			return errors.Join(printPlans(cmd.OutOrStdout(), plans, diff, format), err, verdict(plans, diff))
		},
	}
	f := flagsOf(cmd, groupOutput)
	cmd.Flags().StringVarP(&format, "output", "o", "text", "`format`: text or json")
	f.done("output")
	f.yes(&diff, "diff", false, "say what would change if this instance took the zones over from external-dns now")
	mirrors.add(cmd, false)
	f = flagsOf(cmd, groupMirror)
	mirrors.addLeases(f)
	f.text(&stateFile, "state-file", "", "the `file` of serve: beside it stands what decided last which records are a mirror's, where no cluster keeps that")
	settings.add(cmd)
	return cmd
}

// A mirrorPlan is what one mirror would do.
type mirrorPlan struct {
	Mirror   string        `json:"mirror"`
	Provider string        `json:"provider"`
	Owner    string        `json:"owner,omitempty"`
	Policy   mirror.Policy `json:"policy"`
	// Problem is why the mirror can't be planned; Zones is empty then.
	Problem string `json:"problem,omitempty"`
	// TakeOver says with --diff whether nothing would change.
	TakeOver *takeOver         `json:"takeOver,omitempty"`
	Zones    []mirror.ZonePlan `json:"zones"`
}

// A takeOver counts what would change in the records of a mirror's zones, whatever
// the policy and the guards. Ownership records that are only rewritten or added
// change no answer, and don't count.
type takeOver struct {
	Clean    bool `json:"clean"`
	Creates  int  `json:"creates"`
	Updates  int  `json:"updates"`
	Deletes  int  `json:"deletes"`
	Blocked  int  `json:"blocked"`
	Unread   int  `json:"unread"`
	Rewrites int  `json:"ownershipOnly"`
}

// plan reads the objects and previews every mirror.
func (s *objectSettings) plan(cmd *cobra.Command, mirrors *mirrorsSettings, stateFile string, diff bool) ([]mirrorPlan, error) {
	log, err := s.general.logger(cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if err := s.prepare(quiet(log), os.LookupEnv); err != nil {
		return nil, err
	}
	if err := mirrors.prepare(log, slog.LevelWarn, s); err != nil {
		return nil, err
	}
	if diff {
		mirrors.askAll()
	}
	p, err := s.assemble(quiet(log), pipelineOptions{})
	if err != nil {
		return nil, err
	}
	if len(p.origins) == 0 {
		return nil, errNoZone
	}
	o := mirrorOptions{log: quiet(log), pipeline: p, stateFile: stateFile, preview: true}
	if !s.alone() && len(s.origin.manifests) == 0 {
		if o.client, err = s.origin.client(); err != nil {
			return nil, err
		}
	}
	set, err := mirrors.build(cmd.Context(), o)
	switch {
	case err != nil:
		return nil, err
	case set == nil:
		return nil, errors.New("there is no mirror to plan for: name the cloud with --provider, or mirrors in the config file")
	}
	readErr := p.once(cmd.Context(), cmd.InOrStdin())
	if readErr != nil && !errors.As(readErr, new(failure)) {
		return nil, readErr
	}
	var plans []mirrorPlan
	for _, m := range set.mirrors {
		plans = append(plans, preview(cmd.Context(), m, diff))
	}
	return plans, readErr
}

// askAll has every mirror plan all that could be done, since --diff is about more
// than the policy that it begins with.
func (s *mirrorsSettings) askAll() {
	for _, m := range append(s.list.items, &s.one) {
		if m.registry != "noop" && m.owner != "default" {
			m.policy = string(mirror.Sync)
		}
	}
}

func preview(ctx context.Context, m *mirror.Mirror, diff bool) mirrorPlan {
	status := m.Status()
	plan := mirrorPlan{Mirror: status.Name, Provider: status.Provider, Owner: status.Owner, Policy: status.Policy, Zones: []mirror.ZonePlan{}}
	zones, err := m.Preview(ctx)
	if err != nil {
		plan.Problem = err.Error()
	} else {
		plan.Zones = zones
	}
	if diff {
		plan.TakeOver = plan.weigh()
	}
	return plan
}

// weigh counts what a take-over would change. What guards or the policy hold back
// counts too: some day they may not.
func (p *mirrorPlan) weigh() *takeOver {
	t := &takeOver{}
	if p.Problem != "" {
		t.Unread++
	}
	for i := range p.Zones {
		z := &p.Zones[i]
		if z.Problem != "" {
			t.Unread++
		}
		for _, c := range z.Changes {
			switch {
			case c.Ownership:
				t.Rewrites++
			case c.Verb == mirror.Create:
				t.Creates++
			case c.Verb == mirror.Delete:
				t.Deletes++
			default:
				t.Updates++
			}
		}
		for j := range z.Held {
			if z.Held[j].Delete {
				t.Deletes++
			} else {
				t.Updates++
			}
		}
		t.Blocked += len(z.Blocked)
	}
	t.Clean = t.Creates+t.Updates+t.Deletes+t.Blocked+t.Unread == 0
	return t
}

// verdict is the exit status: 1 where a zone can't be read, or where --diff finds
// that something would change.
func verdict(plans []mirrorPlan, diff bool) error {
	for i := range plans {
		if plans[i].Problem != "" || diff && !plans[i].TakeOver.Clean {
			return errFound
		}
		for _, zone := range plans[i].Zones {
			if zone.Problem != "" {
				return errFound
			}
		}
	}
	return nil
}

func printPlans(w io.Writer, plans []mirrorPlan, diff bool, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"mirrors": plans})
	}
	var text strings.Builder
	for i := range plans {
		writePlan(&text, &plans[i], diff)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writePlan(w *strings.Builder, p *mirrorPlan, diff bool) {
	owner := "without ownership"
	if p.Owner != "" {
		owner = "owner " + p.Owner
	}
	fmt.Fprintf(w, "mirror %s (provider %s, %s, policy %s)\n", p.Mirror, p.Provider, owner, p.Policy)
	if p.Problem != "" {
		fmt.Fprintf(w, "  can't be planned: %s\n", p.Problem)
	}
	for i := range p.Zones {
		writeZonePlan(w, &p.Zones[i])
	}
	if diff {
		writeTakeOver(w, p.TakeOver)
	}
}

func writeZonePlan(w *strings.Builder, z *mirror.ZonePlan) {
	kind := z.ID
	if z.Kind != "" {
		kind = z.Kind + ", " + z.ID
	}
	fmt.Fprintf(w, "  zone %s (%s): ", z.Zone, kind)
	if z.Problem != "" {
		fmt.Fprintf(w, "can't be read: %s\n", z.Problem)
		return
	}
	fmt.Fprintf(w, "own records: %d, others': %d, wanted: %d\n", z.Owned, z.Foreign, z.Wanted)
	if len(z.Changes)+len(z.Held)+len(z.Blocked) == 0 {
		w.WriteString("    nothing to change\n")
	}
	for _, c := range z.Changes {
		fmt.Fprintf(w, "    %s%s\n", c.Change, inBrackets(c.Why))
	}
	for i := range z.Held {
		h := &z.Held[i]
		fmt.Fprintf(w, "    held (%s): %s%s\n", h.Guard, h.Change, inBrackets(h.Why))
	}
	for i := range z.Blocked {
		b := &z.Blocked[i]
		from := ""
		if b.Resource != "" {
			from = " for " + b.Resource
		}
		fmt.Fprintf(w, "    blocked: %s %s%s: %s\n", b.Type, b.Name, from, b.Message)
	}
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func writeTakeOver(w *strings.Builder, t *takeOver) {
	if t.Clean {
		fmt.Fprintf(w, "  take-over: no record would change (ownership records to write: %d)\n", t.Rewrites)
		return
	}
	fmt.Fprintf(w, "  take-over: records to create: %d, to change: %d, to delete: %d; blocked: %d; zones that can't be read: %d\n", t.Creates, t.Updates, t.Deletes, t.Blocked, t.Unread)
}
