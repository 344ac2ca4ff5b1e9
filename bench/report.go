package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// result is one line of the table.
type result struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Product string  `json:"product,omitempty"` // what was compared, with its unit; absent for a value without comparison
	Limit   string  `json:"limit,omitempty"`
	Value   float64 `json:"value"`          // what the goal is about
	Unit    string  `json:"unit,omitempty"` // absent: a ratio
	Goal    string  `json:"goal,omitempty"`
	Verdict string  `json:"verdict,omitempty"` // met or missed
}

func (r result) atLeast(bound float64) result { return r.judged(">=", bound, r.Value >= bound) }
func (r result) atMost(bound float64) result  { return r.judged("<=", bound, r.Value <= bound) }

func (r result) judged(relation string, bound float64, met bool) result {
	r.Goal, r.Verdict = fmt.Sprintf("%s %g", relation, bound), "missed"
	if met {
		r.Verdict = "met"
	}
	return r
}

// report collects what was measured.
type report struct {
	Results               []result
	Notes                 []string // what a reader must know to judge the goals
	LoadBefore, LoadAfter string   // of the machine: was it in use otherwise?
}

// add appends lines under a title, as long as they are about the same.
func (r *report) add(section string, line result) {
	line.Section = section
	r.Results = append(r.Results, line)
}

// goals counts those met, and names those missed.
func (r *report) goals() (met int, missed []string) {
	missed = []string{}
	for _, line := range r.Results {
		switch line.Verdict {
		case "met":
			met++
		case "missed":
			missed = append(missed, line.Section+": "+line.Name)
		}
	}
	return met, missed
}

func (r *report) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "Sortie against its limits, on %d processors with %s; load average %s before and %s after.\n",
		runtime.NumCPU(), runtime.Version(), r.LoadBefore, r.LoadAfter)
	table, section := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), ""
	for _, line := range r.Results {
		if line.Section != section {
			section = line.Section
			fmt.Fprintf(table, "\t\t\t\t\t\n%s\tproduct\tlimit\t\tgoal\t\n", section)
		}
		value := fmt.Sprintf("%.3g %s", line.Value, line.Unit)
		if line.Value >= 1000 { // in which the verb above would write an exponent
			value = fmt.Sprintf("%.0f %s", line.Value, line.Unit)
		}
		if line.Unit == "" {
			value = fmt.Sprintf("%.2f x", line.Value)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", line.Name, line.Product, line.Limit, value, line.Goal, line.Verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	met, missed := r.goals()
	summary := fmt.Sprintf("%d of %d goals met.", met, met+len(missed))
	if len(missed) > 0 {
		summary += " Missed:\n  " + strings.Join(missed, "\n  ")
	}
	for _, note := range r.Notes {
		summary += "\nNote: " + note
	}
	_, err := fmt.Fprintln(w, "\n"+summary)
	return err
}

func (r *report) writeJSON(w io.Writer) error {
	met, missed := r.goals()
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // goals read ">= 0.8"
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{
		"processors": runtime.NumCPU(), "go": runtime.Version(), "loadAverage": []string{r.LoadBefore, r.LoadAfter},
		"results": r.Results, "goalsMet": met, "goalsMissed": missed, "notes": r.Notes,
	})
}

func loadAverage() string {
	content, _ := os.ReadFile("/proc/loadavg") // elsewhere the benchmark does not get far
	first, _, _ := strings.Cut(string(content), " ")
	return first
}
