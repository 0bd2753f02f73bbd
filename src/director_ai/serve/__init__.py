"""What a team deploys: a guarded proxy in front of a model, a page for reviewers, figures for operators."""
